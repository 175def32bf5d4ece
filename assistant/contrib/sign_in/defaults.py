"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether people can prove a second factor when they sign in, and who has to: nobody, admins and operators, everybody.
ASSISTANT_SECOND_FACTOR = ENVIRONMENT.choice(
    "ASSISTANT_SECOND_FACTOR", "off", ("off", "optional", "admins", "required")
)
# The OpenID Connect provider that people can sign in with, beside passwords: its issuer, the client that it knows this
# deployment as, and what the button calls it.
ASSISTANT_OIDC_ISSUER = ENVIRONMENT.url("ASSISTANT_OIDC_ISSUER")
ASSISTANT_OIDC_CLIENT_ID = ENVIRONMENT.text("ASSISTANT_OIDC_CLIENT_ID")
ASSISTANT_OIDC_CLIENT_SECRET = ENVIRONMENT.key("ASSISTANT_OIDC_CLIENT_SECRET")
ASSISTANT_OIDC_NAME = ENVIRONMENT.text("ASSISTANT_OIDC_NAME", "OpenID Connect")

# A site that asks for it and lacks the app does not start.
PROTECTING = ("ASSISTANT_SECOND_FACTOR",)

__all__ = [
    "ASSISTANT_OIDC_CLIENT_ID",
    "ASSISTANT_OIDC_CLIENT_SECRET",
    "ASSISTANT_OIDC_ISSUER",
    "ASSISTANT_OIDC_NAME",
    "ASSISTANT_SECOND_FACTOR",
]
