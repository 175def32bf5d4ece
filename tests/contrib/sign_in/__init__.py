"""Sign-in by OpenID Connect, and second factors."""
