"""The app's address: the page of a link."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.invitations import pages

urlpatterns = [path("accounts/invitation/", pages.invitation, name="invitation")]
