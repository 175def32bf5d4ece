"""A chat in a terminal: `manage.py assistant_chat`."""
