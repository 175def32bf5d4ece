"""django-allauth's settings where ASSISTANT_SECOND_FACTOR or OpenID Connect is on.

A project's settings import all of them (docs/sign-in.md).

Nothing reads them where django-allauth is not installed.
"""

from __future__ import annotations

SECOND_FACTOR_APPS = ("allauth", "allauth.account", "allauth.mfa")
SECOND_FACTOR_MIDDLEWARE = (
    "allauth.account.middleware.AccountMiddleware",
    "assistant.contrib.sign_in.middleware.SecondFactor",
)
OIDC_APPS = ("allauth", "allauth.account", "allauth.socialaccount", "allauth.socialaccount.providers.openid_connect")
OIDC_MIDDLEWARE = ("allauth.account.middleware.AccountMiddleware",)

ACCOUNT_ADAPTER = "assistant.contrib.sign_in.pages.adapters.AccountAdapter"
ACCOUNT_FORMS = {"login": "assistant.contrib.sign_in.pages.forms.PasswordForm"}
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# Sessions last as long as without allauth.
ACCOUNT_SESSION_REMEMBER = True
# A second line behind the assistant's own limits, which refuse first and say when to try again. The limit by name is
# one that the others never let through, so that nobody can keep its owner out.
ACCOUNT_RATE_LIMITS = {"login": "300/m/ip", "login_failed": "60/m/ip,300/h/key", "reauthenticate": "10/m/user"}

MFA_ADAPTER = "assistant.contrib.sign_in.pages.factor_adapter.FactorAdapter"
MFA_FORMS = {
    "authenticate": "assistant.contrib.sign_in.pages.forms.CodeForm",
    "reauthenticate": "assistant.contrib.sign_in.pages.forms.CodeAgainForm",
    "add_webauthn": "assistant.contrib.sign_in.pages.forms.AddPasskeyForm",
    "authenticate_webauthn": "assistant.contrib.sign_in.pages.forms.PasskeyForm",
    "reauthenticate_webauthn": "assistant.contrib.sign_in.pages.forms.PasskeyAgainForm",
    "login_webauthn": "assistant.contrib.sign_in.pages.forms.PasskeyAloneForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RATE_LIMITS = {"webauthn_login": "60/m/ip"}
# Accounts are made by admins, never by strangers, so nobody could keep an owner out of an address.
MFA_ALLOW_UNVERIFIED_EMAIL = True

SOCIALACCOUNT_ADAPTER = "assistant.contrib.sign_in.pages.oidc_accounts.OidcAccounts"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"provider_class": "assistant.contrib.sign_in.pages.oidc.OidcProvider"}}
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
# Access to the provider is used once, for the sign-in.
SOCIALACCOUNT_STORE_TOKENS = False
# Our page has asked by its button, whose form has a CSRF token.
SOCIALACCOUNT_LOGIN_ON_GET = True
