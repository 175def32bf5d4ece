"""The control panel: an admin site with rooms, a tenant picker and a search besides Django's pages of models.

A project mounts it beside its own admin (`MountedPanel`, in `panel_urls`), or names `PanelSite` as the default site of
its admin (docs/admin.md).
"""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _


class PanelSite(AdminSite):
    """The admin site of the control panel."""

    site_header = site_title = _("Tenant Assistant")
    index_title = _("Control panel")
    index_template = "admin/assistant/panel/home.html"
    # The rooms above each page take its place; on a phone Django hides it.
    enable_nav_sidebar = False

    registers_pages_late = True

    # The modules of the admin register their pages with this site while they are imported, so it imports them later.

    def get_urls(self) -> list[URLPattern | URLResolver]:
        from assistant.contrib.panel.admin import pages, panel_pages  # noqa: F401 - the pages of models register
        from assistant.contrib.panel.admin.lists.designed_list import design_pages

        design_pages(self)
        return [*panel_pages.urls(self), *super().get_urls()]

    def check(self, app_configs: Any) -> list[Any]:
        """Check the pages, which `manage.py check` is the first to need."""
        from assistant.contrib.panel.admin import pages  # noqa: F401 - they register

        return super().check(app_configs)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the models by app, when something asks for them: most pages of a panel without sidebar do not."""
        return SimpleLazyObject(lambda: AdminSite.get_app_list(self, request, app_label))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        from assistant.contrib.panel.admin.base import rooms
        from assistant.pages import member_links

        context = super().each_context(request)
        panel = rooms.frame(self, request) if context["has_permission"] else None
        return {**context, "panel": panel, "is_control_panel": True, "account_links": member_links.account_links()}

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Sign out; the page after it shows no tenants."""
        return super().logout(request, {**(extra_context or {}), "panel": None})

    def password_change(  # type: ignore[override]  # it may redirect, as Django's own does
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Change one's own password; wrong old ones are limited and recorded as sign-ins are."""
        from assistant.pages.sign_in import OwnPasswordView

        request.current_app = self.name
        context = {**self.each_context(request), **(extra_context or {})}
        url = reverse("admin:password_change_done", current_app=self.name)
        return OwnPasswordView.as_view(success_url=url, extra_context=context)(request)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        from assistant.contrib.panel.admin.home import home
        from assistant.contrib.panel.admin.tenants import tasks

        if not home.is_for(request):
            return tasks.page(self, request)
        return super().index(request, {**home.context(request), **(extra_context or {})})
