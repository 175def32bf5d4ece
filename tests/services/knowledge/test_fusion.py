"""How search by words and a ranking by meaning, which an app adds, come together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection

from assistant.models.knowledge import Passage
from assistant.services.knowledge import evidence, rankings
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.evidence import find
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.fusion import search_fused
from assistant.services.knowledge.rankings import Ranked, rank_with
from assistant.services.knowledge.reach import Reach, whole_reach
from tests.base import Cast
from tests.services.knowledge.lines import forget_lines

# What the ranking below says of each passage by a word of it: of others, and for other questions, 0.2.
NEAR: dict[str, float] = {}
FAR = 0.2
ASKED = ("tap", "pump", "valve", "class", "VX", "max_flow")
SAID = {"understands_all": True, "silent": False, "fails on other subjects": False}
# Called with each question about another subject.
OTHERS: list[Callable[[], object]] = []


def ranking(*, reach: Reach, questions: Sequence[Sequence[str]], limit: int) -> list[Ranked | None]:
    return [ranked_one(reach.tenant_id, queries) for queries in questions]


def ranked_one(tenant_id: int, queries: Sequence[str]) -> Ranked | None:
    if (
        SAID["silent"]
        or "understands no pump" in queries[0]
        or (SAID["fails on other subjects"] and not any(word in queries[0] for word in ASKED))
    ):
        return None
    if not any(word in queries[0] for word in ASKED):
        for told in OTHERS:
            told()
    rows = Passage.objects.filter(tenant_id=tenant_id)
    is_asked = any(word in query for word in ASKED for query in queries)
    near = NEAR if is_asked else {}
    likeness = {row.pk: next((near[word] for word in near if word in row.text), FAR) for row in rows}
    return Ranked("m 1", likeness, SAID["understands_all"])


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    before = rankings._ranking
    rank_with(f"{__name__}.ranking")
    forget_lines()
    yield
    rank_with(before)
    forget_lines()
    NEAR.clear()
    OTHERS.clear()
    SAID.update({"understands_all": True, "silent": False, "fails on other subjects": False})


@pytest.fixture
def valves(cast: Cast) -> Cast:
    for number in range(8):
        add_document(tenant=cast.acme, title=f"Note {number}", text=f"A pump of class {number} pushes water.")
    add_document(tenant=cast.acme, title="Valves", text="A valve stops the flow.")
    add_document(tenant=cast.acme, title="Parts", text="VX-77 and max_flow are kept in store.")
    return cast


def texts(cast: Cast, *queries: str, limit: int = 5) -> list[str]:
    found = search_fused(reach=whole_reach(cast.acme.pk), queries=queries, limit=limit)
    return [hit.passage.text for hit in found.hits]


def test_the_nearest_comes_first_though_it_has_no_word_of_the_question(valves: Cast) -> None:
    NEAR["valve"] = 0.8
    assert texts(valves, "How do I shut the tap?")[0] == "A valve stops the flow."


def test_where_the_ranking_is_silent_words_decide(valves: Cast) -> None:
    SAID["silent"] = True
    NEAR["valve"] = 0.8
    assert texts(valves, "How do I shut the tap?") == []
    fused = search_fused(reach=whole_reach(valves.acme.pk), queries=["pump class 3"], limit=3)
    assert list(fused.hits) == search(reach=whole_reach(valves.acme.pk), queries=["pump class 3"], limit=3)


@pytest.mark.parametrize("query", ["Where is VX77?", "where do I set max_flow", "a pump of class 3 or VX-77"])
def test_a_passage_with_the_very_identifier_comes_first(valves: Cast, query: str) -> None:
    NEAR["pump"] = 0.9
    assert texts(valves, query)[0] == "VX-77 and max_flow are kept in store."


def test_of_equally_near_passages_that_with_more_of_the_words_is_first(valves: Cast) -> None:
    NEAR["pump"] = 0.5
    assert texts(valves, "class 3")[0] == "A pump of class 3 pushes water."


def test_the_best_by_words_has_a_place_of_its_own(valves: Cast) -> None:
    NEAR["pump"] = 0.9
    assert "A valve stops the flow." in texts(valves, "valve", limit=5)
    assert texts(valves, "valve", limit=5)[0].startswith("A pump")


def test_where_a_wording_is_not_understood_both_orders_alternate(valves: Cast) -> None:
    SAID["understands_all"] = False
    NEAR.update({"pump of class 1": 0.9, "pump of class 2": 0.8})
    assert texts(valves, "valve", limit=2) == ["A pump of class 1 pushes water.", "A valve stops the flow."]


def test_an_identifier_that_was_asked_for_is_evidence_however_far_its_passage_is(valves: Cast) -> None:
    NEAR.update({"valve": 0.1, "pump": 0.1, "VX": 0.1})
    assert find(reach=whole_reach(valves.acme.pk), queries=["Where do I find VX-77?"], limit=5).evidence == "good"


@pytest.mark.parametrize(("near", "expected"), [(0.9, "good"), (0.1, "none")])
def test_lines_are_drawn_by_what_the_ranking_says_of_other_subjects(valves: Cast, near: float, expected: str) -> None:
    NEAR.update({"valve": near, "pump": 0.1, "VX": 0.1})
    assert find(reach=whole_reach(valves.acme.pk), queries=["How do I shut the tap?"], limit=5).evidence == expected
    assert [key[4] for key in evidence._kept] == ["m 1"]


def test_where_the_ranking_fails_while_lines_are_drawn_nothing_is_refused_and_none_are_kept(valves: Cast) -> None:
    SAID["fails on other subjects"] = True
    NEAR.update({"valve": 0.1, "pump": 0.1, "VX": 0.1})
    assert find(reach=whole_reach(valves.acme.pk), queries=["How do I shut the tap?"], limit=5).evidence == "good"
    assert not evidence._kept


def test_a_question_that_the_ranking_does_not_understand_is_judged_by_words(valves: Cast) -> None:
    asked = "understands no pump, marimba, zither or xylophone"
    assert find(reach=whole_reach(valves.acme.pk), queries=[asked], limit=5).hits
    ((key, lines),) = evidence._kept.items()
    assert key[4] == "" and lines.upper < 0.2


@pytest.mark.django_db(transaction=True)
def test_while_lines_are_drawn_other_searches_go_on_without(valves: Cast) -> None:
    NEAR.update({"valve": 0.1, "pump": 0.1, "VX": 0.1})
    begun = Event()
    may_end = Event()
    asked: list[int] = []

    def wait() -> None:
        asked.append(1)
        begun.set()
        may_end.wait(10)

    OTHERS.append(wait)

    def searched() -> str:
        try:
            return find(reach=whole_reach(valves.acme.pk), queries=["How do I shut the tap?"], limit=5).evidence
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(searched)
        assert begun.wait(10)
        assert pool.submit(searched).result(5) == "good"
        assert len(asked) == 1
        OTHERS.clear()
        may_end.set()
        assert first.result(20) == "none"
    assert searched() == "none"
