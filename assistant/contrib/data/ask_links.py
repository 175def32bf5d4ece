"""*Ask about this* on the change pages of exposed models, in Django's own admin and in others that build on it."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.contrib import admin
from django.forms import Media
from django.forms.widgets import Script
from django.utils.translation import gettext as _

from assistant.contrib.data.services.shown_rows import ask_url
from assistant.contrib.data.services.tenant_conditions import problem_of_path
from assistant.optional_apps import labels


def add_ask_links() -> None:
    """Let the pages of models that lead to a tenant link to a new conversation about their row, where it is exposed.

    Called when all pages are registered; what is exposed changes later. The pages are the project's own classes, whose
    templates may come before this app's, so a script puts the link beside the page's tools.
    """
    for model, page in admin.site._registry.items():
        is_ours = model._meta.app_label in labels()
        if not is_ours and not problem_of_path(model) and not hasattr(page.render_change_form, "__wrapped__"):
            page.render_change_form = _with_link(page.render_change_form)  # type: ignore[method-assign]


def _with_link(shown: Any) -> Any:
    @wraps(shown)
    def render_change_form(request: Any, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        row = context.get("original")
        address = ask_url(request.user, row) if row is not None else ""
        if address:
            script = Script(
                "assistant/data/ask_about.js", **{"data-address": address, "data-label": _("Ask about this")}
            )
            context = {**context, "media": context["media"] + Media(js=[script])}  # type: ignore[list-item]
        return shown(request, context, *args, **kwargs)

    return render_change_form
