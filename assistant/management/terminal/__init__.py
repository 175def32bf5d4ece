"""A chat in a terminal: what `manage.py chat` prints and asks."""
