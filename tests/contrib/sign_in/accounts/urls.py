"""The site's URLs where ASSISTANT_SECOND_FACTOR is on."""

from __future__ import annotations

from django.urls import include, path

from config.urls import handler429, handler500
from config.urls import urlpatterns as without

__all__ = ["handler429", "handler500"]

urlpatterns = [path("accounts/", include("assistant.contrib.sign_in.pages.urls")), *without]
