"""The app's addresses."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.browser_sessions import pages

urlpatterns = [
    path("accounts/sessions/<int:session>/end/", pages.end_one, name="end-session"),
    path("accounts/sessions/end/", pages.end_others, name="end-sessions"),
]
