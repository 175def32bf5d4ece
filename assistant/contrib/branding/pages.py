"""The images and the colours of brands, for everybody: the sign-in page and the widget of other sites show them too."""

from __future__ import annotations

import re
import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from assistant.contrib.branding.services.accent import stylesheet
from assistant.contrib.branding.services.stored_brands import find_image

# An image and a colour never change at their address.
_FOREVER = "public, max-age=31536000, immutable"
_COLOUR = re.compile(r"[0-9a-f]{6}")


@require_safe
def image(request: HttpRequest, tenant: str, image: uuid.UUID) -> HttpResponse:
    """Serve a logo or favicon. Its bytes are those that were uploaded, so nothing in it may run."""
    found = find_image(tenant_slug=tenant, image=image)
    if found is None:
        raise Http404
    return _asset(bytes(found.data), found.media_type)


@require_safe
def accent(request: HttpRequest, colour: str) -> HttpResponse:
    """Serve the style sheet of a colour: as a file, because the policy of our pages allows no style in them."""
    if not _COLOUR.fullmatch(colour):
        raise Http404
    return _asset(stylesheet(colour).encode(), "text/css; charset=utf-8")


def _asset(content: bytes, media_type: str) -> HttpResponse:
    headers = {
        "Cache-Control": _FOREVER,
        "Content-Disposition": "inline",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    return HttpResponse(content, content_type=media_type, headers=headers)
