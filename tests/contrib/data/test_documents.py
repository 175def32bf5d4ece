"""Which rows that documents come from a member may see: none if a rule of the host fails."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assistant.contrib.data.exposing import Exposure
from assistant.contrib.data.services import documents
from assistant.contrib.data.services.plans import plan_of
from assistant.models import Conversation
from tests.base import Cast
from tests.library.calling import context_of

pytestmark = pytest.mark.django_db


def seen(cast: Cast, monkeypatch: pytest.MonkeyPatch, rule: Any) -> tuple[Conversation, frozenset[str]]:
    """Return a conversation of a member, and the keys of it that they may see by a rule of the host."""
    monkeypatch.setattr(
        documents, "plans", lambda: (plan_of(Exposure(model=Conversation, fields=("title",), visible_to=rule)),)
    )
    own = Conversation.objects.create(tenant=cast.acme, user=cast.alice, assistant=cast.support, title="Mine")
    keys = {str(own.pk), "no key"}
    return own, documents.visible_keys(context_of(cast.acme, cast.alice), "assistant.Conversation", keys)


def test_keys_of_visible_rows_are_read_without_their_other_columns(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        own, found = seen(cast, monkeypatch, lambda rows, context: rows)
    assert found == {str(own.pk)}
    (query,) = [one["sql"] for one in asked if one["sql"].startswith("SELECT") and "assistant_membership" in one["sql"]]
    assert "title" not in query


def fails(rows: Any, context: Any) -> Any:
    raise LookupError("no such office")


def returns_nothing(rows: Any, context: Any) -> Any:
    return None


@pytest.mark.parametrize("rule", [fails, returns_nothing])
def test_a_rule_of_the_host_that_fails_shows_nothing_and_is_logged(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, rule: Any
) -> None:
    assert seen(cast, monkeypatch, rule)[1] == frozenset()
    assert "Which rows of assistant.Conversation may be seen cannot be asked" in caplog.text
