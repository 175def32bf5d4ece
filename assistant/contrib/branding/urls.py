"""The addresses of brands: their images, colours and installed apps."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.branding import pages

urlpatterns = [
    path("t/<slug:tenant>/brand/<uuid:image>/", pages.image, name="brand-image"),
    path("t/<slug:tenant>/app.webmanifest", pages.manifest, name="manifest"),
    path("brand/<str:colour>.css", pages.accent, name="brand-accent"),
]
