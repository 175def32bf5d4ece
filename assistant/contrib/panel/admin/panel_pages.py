"""The addresses of the control panel's own pages."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import URLPattern, path

from assistant.contrib.panel.admin.base import picker, rooms
from assistant.contrib.panel.admin.home import home
from assistant.contrib.panel.admin.search import palette, search
from assistant.contrib.panel.admin.spend import page as spend


def urls(site: AdminSite) -> list[URLPattern]:
    """Return the pages of a site, for people who may use its admin."""
    return [
        path("pick-tenant/", site.admin_view(picker.pick_tenant), name="pick_tenant"),
        path("days.csv", site.admin_view(home.days_as_csv), name="days_csv"),
        path("search/", site.admin_view(search.results), name="search"),
        path("palette/", site.admin_view(palette.palette), name="palette"),
        path("spend/", site.admin_view(spend.spend_page), name="spend"),
        path("spend.csv", site.admin_view(spend.spend_csv), name="spend_csv"),
        path("advanced/", site.admin_view(home.advanced), name="advanced"),
        *(path(page.route, site.admin_view(page.of(site)), name=page.url_name) for page in rooms.added_pages),
    ]
