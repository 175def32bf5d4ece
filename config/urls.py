"""URLs of the site."""

from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

# First, because they replace the assistant's own page for signing in.
ACCOUNTS = (
    [path("accounts/", include("assistant.contrib.sign_in.pages.urls"))]
    if settings.ASSISTANT_SECOND_FACTOR != "off"
    else []
)
if settings.ASSISTANT_OIDC_ISSUER:
    ACCOUNTS += [path("accounts/", include("assistant.contrib.sign_in.pages.oidc_urls"))]

urlpatterns = [
    *ACCOUNTS,
    path("admin/", admin.site.urls),
    path("", include("assistant.urls")),
]

handler429 = "assistant.contrib.sign_in.pages.views.too_many"
handler500 = "assistant.outages.server_error"
