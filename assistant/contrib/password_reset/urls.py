"""The app's addresses."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.password_reset import pages

urlpatterns = [
    path("accounts/password/", pages.ResetView.as_view(), name="password-reset"),
    path("accounts/password/sent/", pages.SentView.as_view(), name="password-reset-sent"),
    path("accounts/password/link/", pages.reset_link, name="password-reset-link"),
    path("accounts/password/new/<str:uidb64>/<str:token>/", pages.NewPasswordView.as_view(), name="password-new"),
]
