"""The control panel as a site of its own, beside the admin of the project, whatever theme that has."""

from __future__ import annotations

from functools import cache, wraps
from pathlib import Path
from typing import Any

import django.contrib.admin
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.backends.django import DjangoTemplates
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, URLResolver, reverse

from assistant.contrib.panel import in_base
from assistant.contrib.panel.site import PanelSite

NAME = "assistant_panel"
# What a page has of its site, which pages of models take from the project's.
_OF_SITE = (
    *("account_links", "available_apps", "has_permission", "is_control_panel", "is_nav_sidebar_enabled"),
    *("panel", "site_header", "site_title", "site_url"),
    "framed_below",
)
_PROCESSORS = (
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
)


@cache
def _templates() -> DjangoTemplates:
    """Return templates in which Django's own of the admin come before those of a theme."""
    folders = [Path(__file__).parent / "own_templates", Path(django.contrib.admin.__file__).parent / "templates"]
    return DjangoTemplates(
        {
            "NAME": NAME,
            "DIRS": [str(folder) for folder in folders],
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": list(_PROCESSORS)},
        }
    )


def _resolved(template: Any) -> Any:
    """Return the template for a name, for the first of several names that there is, or for a template."""
    if isinstance(template, str):
        return _templates().get_template(template)
    if isinstance(template, list | tuple):
        chosen = _templates().engine.select_template([str(name) for name in template])
        return _templates().get_template(str(chosen.name))
    return template


class MountedPanel(PanelSite):
    """The control panel, mounted by `include("assistant.contrib.panel.panel_urls")`.

    Members sign in where the project says (`LOGIN_URL`). Superusers and who administers a tenant may come in, without
    `is_staff`. With `ASSISTANT_BASE_TEMPLATE` its pages are shown inside that template, in a frame.
    """

    def __init__(self) -> None:
        super().__init__(NAME)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        from assistant.contrib.panel.admin import pages  # noqa: F401 - the pages of models register

        # They register with the project's admin, whose pages of its own models stay there.
        for model, page in admin.site._registry.items():
            kind = page.__class__
            if kind.__module__.startswith("assistant.") and model not in self._registry:
                self._registry[model] = kind(model, self)
        return super().get_urls()

    def has_permission(self, request: HttpRequest) -> bool:
        from assistant.admin.base.visible_tenants import is_operator, permitted_of

        if not request.user.is_authenticated or not request.user.is_active:
            return False
        return is_operator(request) or bool(permitted_of(request).anywhere)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Lead to the project's page for signing in; who is signed in and may not come in is refused."""
        if self.has_permission(request):
            return redirect_to_login("", reverse("admin:index", current_app=self.name), None)
        if request.user.is_authenticated:
            raise PermissionDenied
        wanted = request.GET.get("next") or reverse("admin:index", current_app=self.name)
        return redirect_to_login(wanted, str(settings.LOGIN_URL))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Show a page with the panel's own templates and addresses, whatever the project's admin looks like."""
        from assistant.admin.base.own_addresses import shown_at

        checked = super().admin_view(view, cacheable)

        @wraps(checked)
        def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            with shown_at(self.name):
                if in_base.is_framed(request) and not self.has_permission(request):
                    return in_base.way_out(request)
                if in_base.is_around(request) and self.has_permission(request):
                    return in_base.page_around(request)
                answer: HttpResponseBase = checked(request, *args, **kwargs)
                if isinstance(answer, SimpleTemplateResponse):
                    own = self.each_context(request) | {"app_list": self.get_app_list(request)}
                    if in_base.is_framed(request):
                        own["framed_below"] = in_base.root(self.name)
                    given = answer.context_data or {}
                    names = _OF_SITE if given.get("app_label") or "app_list" not in given else (*_OF_SITE, "app_list")
                    answer.context_data = {**given, **{name: own[name] for name in names if name in own}}
                    answer.resolve_template = _resolved  # type: ignore[method-assign]  # of this answer alone
                    # Again, where a view has rendered it already, with the templates of the project.
                    answer.content = answer.rendered_content
                return in_base.for_frame(answer) if in_base.is_framed(request) else in_base.for_either(answer)

        return show
