"""The addresses of brands: their images and colours."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.branding import pages

urlpatterns = [
    path("t/<slug:tenant>/brand/<uuid:image>/", pages.image, name="brand-image"),
    path("brand/<str:colour>.css", pages.accent, name="brand-accent"),
]
