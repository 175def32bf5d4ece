"""Sign-in beyond passwords: OpenID Connect, and second factors (authenticator apps, passkeys, recovery codes)."""
