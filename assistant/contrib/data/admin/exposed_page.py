"""The pages on which operators tick what of the project's models is exposed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext as _

from assistant.admin.base.links import base_template
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.data.admin.operators_page import OperatorsPage
from assistant.contrib.data.services.exposed_models import (
    MAX_DESCRIPTION,
    MAX_WORDING,
    TOOLS,
    CannotExpose,
    Choices,
    choices_of,
    expose_model,
    forget_model,
    listed_models,
)
from assistant.contrib.data.services.following import refresh

_LIST = "admin:assistant_data_exposedmodel_changelist"


class ExposedModelAdmin(OperatorsPage):
    """In place of the list of rows stands one of the project's models, each with a page of its columns."""

    def get_urls(self) -> list[URLPattern]:
        own = [path("of/<str:label>/", self.admin_site.admin_view(self.model_view), name="data_exposed_model")]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the project's models: what is exposed of each, and why it is not."""
        _check(request)
        refresh()
        models = listed_models()
        context = {
            **self.admin_site.each_context(request),
            "base": base_template(),
            "title": _("Exposed models"),
            "opts": self.model._meta,
            "offered": [one for one in models if one.is_offered],
            "proposed": [one for one in models if not one.is_offered and not one.reason],
            "others": [one for one in models if not one.is_offered and one.reason],
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/assistant/data/exposed_models.html", context).render()

    def model_view(self, request: HttpRequest, label: str) -> HttpResponse:
        """Show what can be ticked of a model; a POST stores it, or forgets it."""
        _check(request)
        refresh()
        try:
            choices = choices_of(label)
        except CannotExpose as exc:
            raise Http404(str(exc)) from exc
        if request.method == "POST":
            try:
                self._store(request, choices)
            except CannotExpose as exc:
                messages.error(request, str(exc))
                choices = _as_posted(choices, request.POST)
            else:
                return HttpResponseRedirect(reverse(_LIST))
        context = {
            **self.admin_site.each_context(request),
            "base": base_template(),
            "title": label,
            "opts": self.model._meta,
            "choices": choices,
            "is_offered": choices.listed.is_offered if request.method == "GET" else "is_offered" in request.POST,
            "tools": [(name, name.removeprefix("tools."), choices.wording.get(name, "")) for name in TOOLS],
            "max_description": MAX_DESCRIPTION,
            "max_wording": MAX_WORDING,
            "list_url": reverse(_LIST),
        }
        return TemplateResponse(request, "admin/assistant/data/exposed_model.html", context)

    def _store(self, request: HttpRequest, choices: Choices) -> None:
        label = choices.listed.label
        # In quotes: Django's pages begin each message with a capital letter.
        named = {"label": f"“{label}”"}
        if request.POST.get("decision") == "forget":
            forget_model(actor=request.user, label=label)
            messages.success(request, _("%(label)s is as the code says.") % named)
            return
        posted = request.POST
        is_offered = "is_offered" in posted
        expose_model(
            actor=request.user,
            label=label,
            is_offered=is_offered,
            fields=posted.getlist("shown"),
            filters=posted.getlist("filter"),
            personal=posted.getlist("personal"),
            description=posted.get("description", ""),
            wording=_words(posted),
        )
        if not is_offered:
            messages.success(request, _("%(label)s is not offered.") % named)
            return
        if choices.listed.is_offered:
            messages.success(request, _("%(label)s is offered.") % named)
            return
        text = _("%(label)s is offered. Its tools are off until they are switched on for a tenant.") % named
        messages.success(request, format_html('{} <a href="{}">{}</a>', text, _tools_url(), _("Tools")))


def _tools_url() -> str:
    """Return where tools are switched on: on the control panel's board, else in the list of settings."""
    try:
        return reverse("admin:switchboard")
    except NoReverseMatch:
        return reverse("admin:assistant_toolsetting_changelist")


def _check(request: HttpRequest) -> None:
    if not is_operator(request):
        raise PermissionDenied


def _words(posted: QueryDict) -> dict[str, str]:
    prefix = "words."
    return {name.removeprefix(prefix): posted.get(name, "") for name in posted if name.startswith(prefix)}


def _as_posted(choices: Choices, posted: QueryDict) -> Choices:
    """Return the choices with what was ticked and could not be stored."""
    words = _words(posted)
    shown = posted.getlist("shown")
    filters = posted.getlist("filter")
    personal = posted.getlist("personal")
    columns = tuple(
        replace(
            one,
            is_shown=one.column.name in shown,
            is_filter=one.column.name in filters,
            is_personal=one.must_be_personal or one.column.name in personal,
            wording=words.get(one.column.name, ""),
        )
        for one in choices.columns
    )
    return replace(choices, columns=columns, description=posted.get("description", ""), wording=words)
