"""What `manage.py assistant_init` reads of a project, proposes, writes and takes back."""
