"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether people can prove a second factor when they sign in, and who has to: nobody, admins and operators, everybody.
SECOND_FACTOR = ENVIRONMENT.choice("SECOND_FACTOR", "off", ("off", "optional", "admins", "required"))
# The OpenID Connect provider that people can sign in with, beside passwords: its issuer, the client that it knows this
# deployment as, and what the button calls it.
OIDC_ISSUER = ENVIRONMENT.url("OIDC_ISSUER")
OIDC_CLIENT_ID = ENVIRONMENT.text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = ENVIRONMENT.key("OIDC_CLIENT_SECRET")
OIDC_NAME = ENVIRONMENT.text("OIDC_NAME", "OpenID Connect")

# A site that asks for it and lacks the app does not start.
PROTECTING = ("SECOND_FACTOR",)

__all__ = ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_ISSUER", "OIDC_NAME", "SECOND_FACTOR"]
