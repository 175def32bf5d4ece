"""The command palette: pages of the panel, and what a text finds, as JSON."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from assistant.contrib.panel.admin.base.rooms import every_page
from assistant.contrib.panel.admin.search.search import found_by

# Of each kind: who wants more searches.
MAX_OF_A_KIND = 5


@require_safe
def palette(request: HttpRequest) -> JsonResponse:
    """Return groups of links: without `q` the pages that the user may open, else what it finds."""
    text = request.GET.get("q", "")
    if not text:
        pages = [_link(page.name, page.url, room) for room, page in every_page(admin.site, request)]
        return JsonResponse({"groups": [{"title": gettext("Pages"), "links": pages}]})
    groups = [
        {
            "title": str(title),
            "links": [_link(hit.name, url, hit.belongs_to) for hit, url in hits[:MAX_OF_A_KIND]],
        }
        for title, hits, _ in found_by(request, text)
    ]
    return JsonResponse({"groups": groups})


def _link(name: str, url: str, belongs_to: str) -> dict[str, str]:
    return {"name": name, "url": url, "belongsTo": belongs_to}
