"""How many of the committed answers' values and claims are judged rightly: the figures of docs/receipts.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from zoneinfo import ZoneInfo

import pytest

from assistant.contrib.receipts.matching.claims import Done, claims_of
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.matching import Mark, marks_of
from assistant.contrib.receipts.matching.sources import Source
from tests.contrib.receipts.answers import actions, development, held_out
from tests.contrib.receipts.answers.actions import Claim
from tests.contrib.receipts.answers.rendering import Planted, Template, fill
from tests.contrib.receipts.answers.scenes import NOW, TIMEZONE, Scene

HALVES = pytest.mark.parametrize("half", [development, held_out], ids=["development", "held out"])
# How often the sentences of each group are filled.
DATA = 4
DOCUMENTS = 2
CLEAN = 4


def facts_of(scene: Scene) -> Facts:
    facts = Facts(NOW.astimezone(ZoneInfo(TIMEZONE)))
    for number, call in enumerate(scene.calls):
        facts.add_result(Source("tool", call.name, f"call-{number}"), json.dumps(call.result, default=str))
    facts.add_text(Source("message", id="question"), scene.question)
    return facts


def answers(half: ModuleType) -> Iterator[tuple[Template, int]]:
    for templates, count in ((half.DATA, DATA), (half.DOCUMENTS, DOCUMENTS)):
        yield from ((template, index) for template in templates for index in range(count))


def clean_answers(half: ModuleType) -> Iterator[tuple[Template, int]]:
    yield from ((template, index) for template in half.CLEAN for index in range(CLEAN))


def is_marked(marks: list[Mark], planted: Planted) -> bool:
    return any(
        not mark.is_supported and mark.value.start < planted.end and planted.start < mark.value.end for mark in marks
    )


def test_the_set_is_as_large_as_it_is_said_to_be() -> None:
    both = [*answers(development), *answers(held_out)]
    assert len(both) == 400 and sum(template.language == "de" for template, _ in both) == 100
    clean = [*clean_answers(development), *clean_answers(held_out)]
    assert len(clean) == 200 and sum(template.language == "de" for template, _ in clean) == 48
    assert len({template.text for template, _ in (*both, *clean)}) == 166
    never_ran = (*actions.NEVER_RAN, *actions.HELD_OUT_NEVER_RAN)
    ran = (*actions.RAN, *actions.HELD_OUT_RAN)
    assert len(never_ran) == len(ran) == 40


@HALVES
def test_planted_changes_are_marked(half: ModuleType) -> None:
    marked = count = 0
    for template, index in answers(half):
        scene, text, planted = fill(template, index, change=True)
        assert planted is not None and text[planted.start : planted.end] != planted.before
        marked += is_marked(marks_of(text, facts_of(scene)), planted)
        count += 1
    assert count == 200 and marked >= 0.98 * count, f"{marked} of {count}"


@HALVES
def test_few_values_of_true_answers_are_marked(half: ModuleType) -> None:
    wrong = count = 0
    for template, index in (*answers(half), *clean_answers(half)):
        scene, text, _ = fill(template, index)
        marks = marks_of(text, facts_of(scene))
        count += len(marks)
        wrong += sum(not mark.is_supported for mark in marks)
    assert count > 1_000 and wrong <= 0.02 * count, f"{wrong} of {count}"


def claims_without_a_call(claim: Claim) -> list[str]:
    calls = [Done(name.lstrip("-!"), "", name[0] == "-", name[0] != "!") for name in claim.calls]
    return [found.verb for found in claims_of(claim.text, calls) if not found.tool]


@pytest.mark.parametrize("claim", [*actions.NEVER_RAN, *actions.HELD_OUT_NEVER_RAN], ids=lambda claim: claim.text)
def test_an_action_that_never_ran_is_found(claim: Claim) -> None:
    assert claims_without_a_call(claim)


@pytest.mark.parametrize("claim", [*actions.RAN, *actions.HELD_OUT_RAN], ids=lambda claim: claim.text)
def test_what_happened_and_what_is_no_claim_is_left_alone(claim: Claim) -> None:
    assert not claims_without_a_call(claim)
