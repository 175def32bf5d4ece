"""Sign-in by django-allauth. Imported only where ASSISTANT_SECOND_FACTOR or OpenID Connect is on."""
