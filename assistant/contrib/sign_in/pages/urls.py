"""URLs of sign-in with a second factor. A project includes them at `accounts/`, before the assistant's own.

The names are django-allauth's. Its pages for making accounts and for e-mail addresses are left out.
"""

from __future__ import annotations

from django.urls import path

from assistant.contrib.sign_in.pages import views

urlpatterns = [
    path("login/", views.sign_in, name="account_login"),
    path("login/passkey/", views.passkey_sign_in, name="mfa_login_webauthn"),
    path("login/second-factor/", views.second_step, name="mfa_authenticate"),
    path("inactive/", views.inactive, name="account_inactive"),
    path("confirm/", views.again_by_password, name="account_reauthenticate"),
    path("confirm/code/", views.again_by_code, name="mfa_reauthenticate"),
    path("confirm/passkey/", views.again_by_passkey, name="mfa_reauthenticate_webauthn"),
    path("second-factor/", views.factors, name="mfa_index"),
    path("second-factor/app/add/", views.totp_add, name="mfa_activate_totp"),
    path("second-factor/app/remove/", views.totp_remove, name="mfa_deactivate_totp"),
    path("second-factor/passkeys/add/", views.passkey_add, name="mfa_add_webauthn"),
    path("second-factor/passkeys/<int:pk>/remove/", views.passkey_remove, name="mfa_remove_webauthn"),
    path("second-factor/codes/", views.codes, name="mfa_view_recovery_codes"),
    path("second-factor/codes/new/", views.codes_renew, name="mfa_generate_recovery_codes"),
    path("second-factor/codes/file/", views.codes_file, name="mfa_download_recovery_codes"),
]
