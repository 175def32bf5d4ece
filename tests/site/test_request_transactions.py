"""No view of ours is in a transaction that ATOMIC_REQUESTS opens, wherever its address is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction
from django.contrib.admin import AdminSite
from django.db import connections
from django.urls import URLResolver, get_resolver, include, path

from assistant.admin import TenantScopedAdmin
from assistant.models import Document
from assistant.services.db.own_transactions import use_own_transactions

# Two that a project might have.
ALIASES = {"default", "archive"}


def views(entries: Any) -> Iterator[tuple[str, Any]]:
    """Every view below the entries of a resolver, with its address."""
    for entry in entries:
        if isinstance(entry, URLResolver):
            yield from ((f"{entry.pattern}{address}", view) for address, view in views(entry.url_patterns))
        else:
            yield str(entry.pattern), entry.callback


def is_outside(view: Any) -> bool:
    return getattr(view, "_non_atomic_requests", set()) >= set(connections)


def test_every_asynchronous_view_of_the_site_can_run_with_atomic_requests() -> None:
    asynchronous = [
        (address, view) for address, view in views(get_resolver().url_patterns) if iscoroutinefunction(view)
    ]
    assert len(asynchronous) > 15
    assert [address for address, view in asynchronous if not is_outside(view)] == []


def test_the_assistants_pages_and_apis_and_its_pages_of_the_admin_are_outside() -> None:
    inside = [address for address, view in views(get_resolver("assistant.urls").url_patterns) if not is_outside(view)]
    assert inside == []
    ours = [(address, view) for address, view in views(get_resolver().url_patterns) if "admin/assistant/" in address]
    assert len(ours) > 100
    # Django's own redirect from the address without a page.
    assert [
        address for address, view in ours if not is_outside(view) and not address.endswith("<path:object_id>/")
    ] == []


def test_a_projects_own_page_keeps_what_the_project_has_set() -> None:
    class Archive(TenantScopedAdmin):
        """A page of a project that extends ours."""

    pages = Archive(Document, AdminSite()).urls
    assert not any(is_outside(view) for _, view in views(pages))


def test_all_databases_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "settings", dict.fromkeys(ALIASES, connections["default"].settings_dict))

    async def view(request: Any) -> None: ...

    use_own_transactions([path("a/", include([path("b/", view)]))])
    assert view._non_atomic_requests == ALIASES  # type: ignore[attr-defined]
