"""Jobs of optional apps: their handlers are imported where jobs are done, and people of a tenant may see them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.services.jobs import jobs, names

MODULE = """
from assistant.services.jobs import jobs

@jobs.handles("test.added")
def done(job): ...
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that handles jobs, which nothing has imported yet."""
    (tmp_path / "added_jobs.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(jobs, "_modules", [])
    yield "added_jobs"
    sys.modules.pop("added_jobs", None)
    jobs._handlers.pop("test.added", None)


def test_a_module_with_handlers_is_imported_where_jobs_are_done_and_not_before(module: str) -> None:
    jobs.handled_in(module)
    assert module not in sys.modules and "test.added" not in jobs._handlers
    jobs.import_handlers()
    assert "test.added" in jobs._handlers


def test_people_of_a_tenant_see_the_jobs_that_an_app_lets_them_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_of_tenants", {*names.of_tenants()})
    assert "test.added" not in names.of_tenants()
    names.show_to_tenants("test.added")
    assert {names.PUBLISH_JOB, "test.added"} <= names.of_tenants()
