"""Serves the language model that runs on this machine: `manage.py assistant_local_model`."""
