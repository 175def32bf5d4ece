"""The evaluation of retrieval: what its figures count, and what the committed set finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.evaluations.services.knowledge_evaluation import Case, CaseError, evaluate, read_cases
from assistant.models import Tenant
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.reach import whole_reach
from benchmarks.knowledge.corpus import Style, cases, documents
from tests.base import Cast

ANSWERS = {"a": ["One.", "Two."], "b": ["Three.", "One."], "c": [], "both": ["One.", "Five.", "Three."]}


def find(queries: Sequence[str]) -> list[str]:
    return ANSWERS[queries[0]]


def test_recall_counts_passages_and_refusals() -> None:
    given = [
        Case("natural", "en", "a", expected=["One."]),
        Case("natural", "en", "b", expected=["One."]),
        Case("natural", "en", "c", expected=["One."]),
        Case("two documents", "en", "both", expected=["One.", "Three."]),
        Case("no answer", "en", "c"),
        Case("no answer", "en", "a"),
    ]
    found = evaluate(given, find, with_wordings=False)
    natural = found["natural"]
    assert (natural.cases, natural.first, natural.fifth, natural.mrr, natural.refused) == (3, 1, 2, 0.5, 1)
    assert natural.missed == ["c"]
    assert (found["two documents"].first, found["two documents"].fifth) == (0, 1)
    assert (found["no answer"].cases, found["no answer"].refused) == (2, 1)


def test_wordings_are_searched_in_place_of_the_question() -> None:
    case = Case("other words", "en", "c", wordings=["a"], expected=["One."])
    assert evaluate([case], find, with_wordings=False)["other words"].fifth == 0
    assert evaluate([case], find, with_wordings=True)["other words"].fifth == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "Line 1 is no JSON"),
        ("[" * 100_000, "Line 1 is longer"),
        ("[]", "Line 1 is no object"),
        ('{"kind": "natural"}', "Line 1 needs a kind"),
        ('{"kind": "natural", "language": "en", "question": "x", "answer": 1}', "Line 1 is no object with"),
        ('{"kind": "natural", "language": "en", "question": "x", "expected": "y"}', "Line 1 needs lists"),
        ('{"kind": "natural", "language": "en", "question": "x"}', "expected is empty for the kind"),
        ('{"kind": "no answer", "language": "en", "question": "x", "expected": ["y"]}', "expected is empty"),
        ('{"kind": "no answer", "language": "en", "question": "x", "half": "third"}', "belongs to no half"),
    ],
)
def test_what_is_no_case_is_refused_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(CaseError, match=problem):
        read_cases([line])


def test_the_command_prints_figures_of_the_tenants_documents_alone(cast: Cast, tmp_path: Path) -> None:
    add_document(tenant=cast.acme, title="Garage", text="Vehicles need a permit.")
    file = tmp_path / "cases.jsonl"
    case = {"kind": "other words", "language": "en", "question": "my car?", "wordings": ["permit for vehicles"]}
    file.write_text(json.dumps({**case, "expected": ["Vehicles need a permit."]}))
    figures = {}
    for tenant in ("acme", "globex"):
        out = StringIO()
        call_command("assistant_evaluate_knowledge", str(file), tenant=tenant, json=True, stdout=out)
        figures[tenant] = json.loads(out.getvalue())
    assert figures["acme"]["the question alone"]["other words"]["fifth"] == 0
    assert figures["acme"]["with wordings"]["other words"]["fifth"] == 1
    assert figures["globex"]["with wordings"]["other words"]["refused"] == 1
    out = StringIO()
    call_command("assistant_evaluate_knowledge", str(file), tenant="acme", missed=True, stdout=out)
    assert "my car?" in out.getvalue()
    with pytest.raises(CommandError, match="No such file"):
        call_command("assistant_evaluate_knowledge", str(tmp_path / "none"), tenant="acme")


def test_the_committed_set_has_its_kinds_languages_and_halves() -> None:
    given = read_cases(json.dumps(case) for case in cases())
    assert {case.language for case in given} == {"en", "de", "es"}
    for kind in ("same words", "natural", "other words", "identifier", "no answer"):
        halves = [case.half for case in given if case.kind == kind]
        assert halves.count("development") == halves.count("test") >= 20
    assert {"two documents", "rival documents", "contradiction"} <= {case.kind for case in given}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "least"), [("titled", (19, 19, 19)), ("headings", (19, 19, 17)), ("neither", (19, 18, 14))]
)
def test_the_set_is_found_among_other_passages(acme: Tenant, style: Style, least: tuple[int, int, int]) -> None:
    """Of English cases for tests: the question in the same words and naturally; in other words by wordings."""
    for source in documents(style=style, passages=400):
        add_document(tenant=acme, title=source.title, text=source.text, kind=source.kind)
    given = [case for case in read_cases(json.dumps(one) for one in cases()) if case.half == "test"]
    english = [case for case in given if case.language == "en"]

    def found(kind: str, *, with_wordings: bool) -> int:
        chosen = [case for case in english if case.kind == kind]
        return evaluate(chosen, passages, with_wordings=with_wordings)[kind].fifth

    def passages(queries: Sequence[str]) -> list[str]:
        return [hit.passage.text for hit in search(reach=whole_reach(acme.pk), queries=queries, limit=5)]

    assert found("same words", with_wordings=False) >= least[0]
    assert found("natural", with_wordings=False) >= least[1]
    assert found("other words", with_wordings=True) >= least[2]
