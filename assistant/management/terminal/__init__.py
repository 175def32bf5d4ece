"""A chat in a terminal: what `manage.py assistant_chat` prints and asks."""
