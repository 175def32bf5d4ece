"""`python -m benchmarks.knowledge wordings`: what counts as a model's wordings of a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from assistant.models import Tenant
from assistant.services.knowledge.documents import add_document
from assistant.testing import ScriptedModel, ToolCall
from benchmarks.knowledge import wordings
from tests.base import Cast

pytestmark = pytest.mark.django_db(transaction=True)
CASE = {"kind": "other words", "question": "my car?", "wordings": ["by hand"], "expected": ["Permits."]}


def search(*queries: str) -> ToolCall:
    return ToolCall("call-1", "search_docs", json.dumps({"queries": queries}))


@pytest.fixture
def asked(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Asks a scripted model, beside a document; returns the wordings."""
    tenant = Tenant.objects.get(pk=cast.acme.pk)
    add_document(tenant=tenant, title="Parking", text="Permits.")

    async def ready(*_: object, **__: object) -> bool:
        return True

    def ask(*turns: Any, cases: int = 1) -> list[list[str]]:
        model = ScriptedModel(turns)
        monkeypatch.setattr(wordings, "EmbeddedModel", lambda _: model)
        monkeypatch.setattr(wordings, "is_ready", ready)
        asked = wordings.with_written_wordings([CASE] * cases, tenant=tenant.slug, url="http://x")
        return [one["wordings"] for one in asked]

    yield ask


def test_they_are_those_of_its_last_search_of_two(asked: Any) -> None:
    assert asked(search("parking permit", "garage"), "Ask for one.") == [["parking permit", "garage"]]
    assert asked(search("my car"), search("parking permit")) == [["parking permit"]]


def test_an_answer_without_a_search_has_none(asked: Any) -> None:
    assert asked("I do not know.", search("parking permit"), "Ask.", cases=2) == [[], ["parking permit"]]


def test_wordings_that_the_tool_would_refuse_are_none(asked: Any) -> None:
    broken = ToolCall("call-1", "search_docs", json.dumps({"queries": "parking"}))
    blank = ToolCall("call-1", "search_docs", json.dumps({"queries": ["parking", " "]}))
    assert asked(broken, "No.", blank, "No.", cases=2) == [[], ["parking"]]
