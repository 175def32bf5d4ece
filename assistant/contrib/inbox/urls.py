"""The app's address: the page of what waits for a member."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.inbox import pages

urlpatterns = [path("t/<slug:tenant>/inbox/", pages.inbox, name="inbox")]
