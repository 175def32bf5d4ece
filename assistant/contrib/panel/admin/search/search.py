"""The page with the results of the search box in the header."""

from __future__ import annotations

from functools import partial

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.panel.admin.base.picker import reported_tenants
from assistant.contrib.panel.reports.search import MAX_HITS, MIN_LENGTH, Hit, Kind, search

TITLES: dict[Kind, str | Promise] = {
    "tenant": _("Tenants"),
    "membership": _("People"),
    "conversation": _("Conversations"),
    "run": _("Runs"),
    "toolcall": _("Tool calls"),
    "apikey": _("API keys"),
    "tool": _("Tools"),
    "assistant": _("Assistants"),
    "promptversion": _("Prompts"),
}


# Of the models of apps, by name: the label of the app.
_APPS: dict[Kind, str] = {}


def describe_kind(model: type[Model], title: str | Promise) -> None:
    """Say how the page calls hits of an app's model, and that they lead to the model's page."""
    TITLES[str(model._meta.model_name)] = title
    _APPS[str(model._meta.model_name)] = model._meta.app_label


Found = list[tuple[str | Promise, list[tuple[Hit, str]], bool]]


def found_by(request: HttpRequest, text: str) -> Found:
    """Return what a text finds in the tenants that the user may see, or in the picked one: titles, hits with pages."""
    return [
        (TITLES[one.kind], [(hit, _url(request, hit)) for hit in one.hits], one.has_more)
        for one in search(text=text, tenants=partial(reported_tenants, request))
    ]


def results(request: HttpRequest) -> HttpResponse:
    """Show what `q` finds."""
    text = request.GET.get("q", "")
    found = found_by(request, text)
    context = {
        **admin.site.each_context(request),
        "title": _("Search"),
        "text": text,
        "found": found,
        "most": MAX_HITS,
        "least": MIN_LENGTH,
    }
    return TemplateResponse(request, "admin/assistant/panel/search.html", context)


def _url(request: HttpRequest, hit: Hit) -> str:
    """Return the page of a hit; of a tool its calls, for those who may not open the tool's page."""
    if hit.kind == "tool" and hit.key and (is_operator(request) or permitted_of(request).tenants("tools")):
        return reverse("admin:tool_page", args=[hit.key])
    if hit.kind == "tool":
        return f"{reverse('admin:assistant_toolcall_changelist')}?{urlencode({'q': hit.name})}"
    if hit.kind == "assistant":
        return reverse("admin:prompt_editor", args=[hit.key])
    page = "overview" if hit.kind == "tenant" else "change"
    return reverse(f"admin:{_APPS.get(hit.kind, 'assistant')}_{hit.kind}_{page}", args=[hit.key])
