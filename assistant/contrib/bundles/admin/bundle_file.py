"""Bundles as files to download."""

from __future__ import annotations

from django.http import HttpResponse

from assistant.contrib.bundles.services.export import text_of
from assistant.contrib.bundles.services.format import Bundle


def bundle_file(name: str, bundle: Bundle) -> HttpResponse:
    """Return a bundle as the file `name`.bundle.json."""
    response = HttpResponse(text_of(bundle), content_type="application/json; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.bundle.json"'
    return response
