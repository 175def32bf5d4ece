"""Sign-in by django-allauth, with a second factor. Imported only where SECOND_FACTOR is on."""
