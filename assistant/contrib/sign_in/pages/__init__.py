"""Sign-in by django-allauth. Imported only where SECOND_FACTOR or OpenID Connect is on."""
