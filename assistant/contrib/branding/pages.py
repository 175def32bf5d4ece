"""The images and the colours of brands, for everybody: the sign-in page and the widget of other sites show them too.

What a tenant's chat is called on a phone's home screen is for its members.
"""

from __future__ import annotations

import re
import uuid

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from assistant.contrib.branding.services.accent import stylesheet
from assistant.contrib.branding.services.stored_brands import find_image
from assistant.pages.members import MemberRequest, for_members
from assistant.services.tenancy.brands import brand_of

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


@require_safe
@for_members
def manifest(page: MemberRequest) -> HttpResponse:
    """Say how the chat of a tenant is installed as an app: https://www.w3.org/TR/appmanifest/.

    There is no service worker, so that nothing of a tenant is kept on the device.
    """
    tenant = page.member.tenant
    brand = brand_of(tenant_id=tenant.pk)
    values = {
        "name": brand.name or tenant.name,
        "start_url": reverse("assistant:chat", args=[tenant.slug]),
        "scope": reverse("assistant:home"),
        "display": "standalone",
        "background_color": "#fbfaf7",
        "theme_color": "#fbfaf7",
        "icons": [{"src": brand.favicon, "sizes": "any"}] if brand.favicon else _icons(),
    }
    return JsonResponse(values, content_type="application/manifest+json")


def _icons() -> list[dict[str, str]]:
    """Return this package's icons: as a drawing, and as the images that launchers ask for."""
    images = (("icon-192", "192x192", "any"), ("icon-512", "512x512", "any"), ("maskable-512", "512x512", "maskable"))
    return [
        {"src": static("assistant/icon.svg"), "sizes": "any", "type": "image/svg+xml"},
        *(
            {
                "src": static(f"assistant/branding/icons/{name}.png"),
                "sizes": sizes,
                "type": "image/png",
                "purpose": purpose,
            }
            for name, sizes, purpose in images
        ),
    ]


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
