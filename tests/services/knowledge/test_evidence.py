"""Whether a search says that nothing is known: without labels, by the tenant's own documents."""

from __future__ import annotations

import pytest

from assistant.library.knowledge import search_docs
from assistant.models import Tenant
from assistant.services.knowledge import evidence
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.evidence import find, lines_of
from assistant.services.knowledge.quotations import NOTHING, WEAK
from assistant.services.knowledge.reach import whole_reach
from assistant.toolkit import ToolContext
from benchmarks.knowledge.corpus import documents
from tests.base import Cast
from tests.library.calling import call
from tests.services.knowledge.lines import forget_lines


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    forget_lines()


@pytest.fixture
def handbook(acme: Tenant) -> Tenant:
    for source in documents(style="titled", passages=300):
        add_document(tenant=acme, title=source.title, text=source.text, kind=source.kind)
    return acme


@pytest.mark.slow
def test_what_no_document_answers_is_refused_and_what_one_answers_is_not(
    handbook: Tenant, at_acme: ToolContext
) -> None:
    unknown = call(search_docs, at_acme, queries=["The pool is heated.", "swimming pool lane swimmer towel lifeguard"])
    assert (unknown["results"], unknown["note"]) == ([], NOTHING)
    known = call(
        search_docs, at_acme, queries=["A replacement badge costs so many euros.", "lost badge report block desk"]
    )
    assert known["results"] and not known["note"].startswith((NOTHING, WEAK))


def test_few_documents_refuse_nothing_that_they_have(cast: Cast) -> None:
    add_document(tenant=cast.acme, title="Valves", text="A valve stops the water.")
    assert find(reach=whole_reach(cast.acme.pk), queries=["valve"], limit=5).evidence == "good"
    assert find(reach=whole_reach(cast.acme.pk), queries=["unicorn"], limit=5).evidence == "none"
    assert find(reach=whole_reach(cast.globex.pk), queries=["valve"], limit=5).evidence == "none"


def test_a_line_between_says_that_the_evidence_is_weak(
    cast: Cast, at_acme: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_document(tenant=cast.acme, title="Valves", text="A valve stops the water.")
    key = (cast.acme.pk, "", 1, frozenset({"en"}), "", ())
    monkeypatch.setitem(evidence._kept, key, evidence.Lines(0.05, 0.9))
    result = call(search_docs, at_acme, queries=["valve gasket thread"])
    assert result["results"] and result["note"].startswith(WEAK)


def test_lines_are_kept_until_a_tenant_has_twice_as_many_passages(cast: Cast) -> None:
    add_document(tenant=cast.acme, title="Valves", text="A valve stops the water.")
    lines_of(whole_reach(cast.acme.pk))
    lines_of(whole_reach(cast.acme.pk))
    assert len(evidence._kept) == 1
    add_document(tenant=cast.acme, title="Wale", text="Der Wal ist kein Fisch.")
    lines_of(whole_reach(cast.acme.pk))
    assert len(evidence._kept) == 2
