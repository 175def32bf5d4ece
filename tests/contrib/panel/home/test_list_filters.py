"""What the filters of lists offer."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.admin.base import filters
from assistant.models import Run
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.factories import make_conversation, make_run

RUNS = "/admin/assistant/run/"


def offered(client: Client, title: str, query: str = "", page: str = RUNS) -> list[str]:
    """Return the choices of a filter, without "All"."""
    text = client.get(page + query).content.decode()
    found = re.search(rf'data-filter="{title}".*?</details>', text, re.DOTALL)
    return (
        [unescape(one.strip()) for one in re.findall(r"<a [^>]*>(.*?)</a>", found[0], re.DOTALL)][1:] if found else []
    )


def run_of(cast: Cast, *, of_globex: bool = False, **values: str) -> Run:
    who, assistant = (cast.mallory, cast.rival_support) if of_globex else (cast.alice, cast.support)
    run = make_run(make_conversation(who, assistant))
    Run.objects.filter(pk=run.pk).update(**values)
    return run


def test_a_filter_offers_the_tenants_that_have_rows(root: Client, cast: Cast) -> None:
    run_of(cast)
    assert offered(root, "tenant") == []
    run_of(cast, of_globex=True)
    assert offered(root, "tenant") == ["Acme", "Globex"]
    assert offered(root, "tenant", page="/admin/assistant/apikey/") == []


def test_it_offers_a_tenants_admin_no_other_tenant(amys: Client, cast: Cast) -> None:
    run_of(cast)
    run_of(cast, of_globex=True)
    text = amys.get(RUNS).content.decode()
    assert 'data-filter="tenant"' not in text and "Globex" not in text
    # Entries of the deployment have no tenant.
    assert 'data-filter="tenant"' not in amys.get("/admin/assistant/auditentry/").content.decode()


def test_of_many_tenants_it_offers_the_first_and_the_chosen_one(
    root: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "MAX_TENANTS", 1)
    run_of(cast)
    run_of(cast, of_globex=True)
    page = f"?tenant__id__exact={cast.globex.pk}"
    assert offered(root, "tenant", page) == ["Acme", "Globex"]
    root.post("/admin/pick-tenant/", {"tenant": "globex"})
    assert "Acme" not in offered(root, "tenant")


def test_a_filter_offers_the_values_of_the_newest_rows(
    root: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("old-model", "model-b", "model-a"):
        run_of(cast, model=model)
    assert offered(root, "model") == ["model-a", "model-b", "old-model"]
    assert offered(root, "error") == []
    monkeypatch.setattr(filters, "NEWEST_ROWS", 2)
    assert offered(root, "model") == ["model-a", "model-b"]
    assert "old-model" in root.get(RUNS, {"model": "old-model"}).content.decode()


@pytest.mark.parametrize("page", [RUNS, "/admin/assistant/usageentry/", "/admin/assistant/auditentry/"])
def test_no_query_of_a_filter_reads_all_rows(page: str, root: Client, cast: Cast) -> None:
    say_something(cast)
    run_of(cast, of_globex=True)
    with CaptureQueriesContext(connection) as queries:
        assert root.get(page).status_code == 200
    assert not [query["sql"] for query in queries if "DISTINCT" in query["sql"]]
    assert "_facets" not in root.get(page).content.decode()
