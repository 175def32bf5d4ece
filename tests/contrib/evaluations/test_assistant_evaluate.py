"""`assistant_evaluate`: what it prints, and the exit codes by which CI decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.evaluations.models import Evaluation
from assistant.contrib.evaluations.services.evaluations.questions import Question
from assistant.models import Provider, Run, UsageEntry
from assistant.services.assistants.prompts import draft_prompt
from tests.base import Cast
from tests.contrib.evaluations.test_evaluations import by_prompt, made
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hours(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Evaluation:
    """An evaluation whose expectations the draft alone fulfils."""
    fake_provider.rule(by_prompt)
    draft_prompt(assistant=cast.support, text="Be kind.")
    return made(cast, Question("When?", expected_text="we open"), Question("Really?"), judge_model="judge")


def run(capsys: Any, *options: str, name: str = "Hours") -> str:
    call_command("assistant_evaluate", "acme", "support", name, *options)
    return str(capsys.readouterr().out)


def test_it_prints_the_figures_of_both_prompts(hours: Evaluation, capsys: Any) -> None:
    shown = run(capsys)
    assert "published: version 1, 0 of 1 as expected" in shown and "draft: version 2, 1 of 1 as expected" in shown
    assert "  1 draft     as expected" in shown and "finds the draft: 2 better" in shown
    hours.refresh_from_db()
    assert hours.state == "done" and not Run.objects.exists()
    assert UsageEntry.objects.filter(is_test=True).count() == 6


def test_json_has_every_answer(hours: Evaluation, capsys: Any) -> None:
    found = json.loads(run(capsys, "--json", name=str(hours.pk)))
    assert (found["evaluation"]["state"], found["not_met"]) == ("done", [])
    assert found["figures"]["sides"]["draft"]["passed"] == 1
    first = found["questions"][0]
    assert (first["question"], first["results"]["draft"]["answer"]) == ("When?", "We open at nine.")


def test_thresholds_decide_the_exit_code(hours: Evaluation, fake_provider: FakeProvider, capsys: Any) -> None:
    hours.cases.update(expected_text="at noon")
    with pytest.raises(CommandError, match="0 of 2 answers are as expected") as failed:
        run(capsys)
    assert failed.value.returncode == 1
    run(capsys, "--min-passed", "0")
    hours.cases.update(expected_text="")
    fake_provider.rule(reply('{"better": "A", "reason": "First."}'))
    with pytest.raises(CommandError, match="The judge finds 1 answers worse") as failed:
        run(capsys, "--max-worse", "0")
    assert failed.value.returncode == 1


def test_what_cannot_be_run_ends_with_another_code(hours: Evaluation, capsys: Any) -> None:
    for arguments in (("acme", "support", "Nothing"), ("globex", "support", "Hours")):
        with pytest.raises(CommandError, match="no evaluation") as failed:
            call_command("assistant_evaluate", *arguments)
        assert failed.value.returncode == 2
    with pytest.raises(CommandError, match="no version 9"):
        run(capsys, "--draft", "9")
    with pytest.raises(CommandError, match="not a member") as failed:
        run(capsys, "--as", "mallory")
    assert failed.value.returncode == 2
