"""The mounted panel inside the base template of a project: a frame that shows the page of the same address.

A frame keeps both sides' style sheets and scripts apart, of the admin's too. The browser says which of the two it asks
for: `Sec-Fetch-Dest` is `document` for the page around the frame and `iframe` for what is in it. Where a browser says
neither, as over plain HTTP, the page stands alone. A Content-Security-Policy that the project sends by Django's
middleware or django-csp's is widened for these pages: its own origin may frame them, and its own frames be shown.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers

HEADER = "Sec-Fetch-Dest"
_DJANGO_CSP = "csp.middleware.CSPMiddleware"
_DJANGOS_OWN = "django.middleware.csp.ContentSecurityPolicyMiddleware"


def is_framed(request: HttpRequest) -> bool:
    """Whether a page is asked for that is shown in the frame."""
    return bool(settings.ASSISTANT_BASE_TEMPLATE) and request.headers.get(HEADER) == "iframe"


def is_around(request: HttpRequest) -> bool:
    """Whether the page around the frame is asked for: not by a form, nor by a pop-up window of one."""
    is_page = request.method == "GET" and "_popup" not in request.GET
    return bool(settings.ASSISTANT_BASE_TEMPLATE) and is_page and request.headers.get(HEADER) == "document"


def page_around(request: HttpRequest) -> HttpResponseBase:
    """Return the project's page with a frame that asks for the same address."""
    context = {"base_template": settings.ASSISTANT_BASE_TEMPLATE, "address": request.get_full_path()}
    return for_either(_with_policy(render(request, "assistant/panel/around.html", context), "frame-src"))


def way_out(request: HttpRequest) -> HttpResponseBase:
    """Return a page that leaves the frame for the same address, where people sign in or are refused."""
    return for_frame(render(request, "assistant/panel/way_out.html", {"address": request.get_full_path()}))


def for_either(response: HttpResponseBase) -> HttpResponseBase:
    """Return a response that no cache gives to whoever asks for the other of the two."""
    if settings.ASSISTANT_BASE_TEMPLATE:
        patch_vary_headers(response, [HEADER])
    return response


def for_frame(response: HttpResponseBase) -> HttpResponseBase:
    """Return a response that a page of the same origin may frame, and no other."""
    response["X-Frame-Options"] = "SAMEORIGIN"
    return for_either(_with_policy(response, "frame-ancestors"))


def _with_policy(response: HttpResponseBase, directive: str) -> HttpResponseBase:
    """Return a response whose policy allows the site itself in a directive, as the middleware's decorators say it."""
    own = ["'self'"]
    # Django has it from version 6.0 on.
    policy = getattr(settings, "SECURE_CSP", None)
    if _DJANGO_CSP in settings.MIDDLEWARE:
        response._csp_replace = {directive: own}  # type: ignore[attr-defined]
    elif _DJANGOS_OWN in settings.MIDDLEWARE and policy:
        response._csp_config = {**policy, directive: own}  # type: ignore[attr-defined]
    return response


def root(name: str) -> str:
    """Return the path below which the panel's pages are; its frame shows no others."""
    return reverse("admin:index", current_app=name)
