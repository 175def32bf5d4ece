"""Says whose failures they are: a provider's, the account's there, one assistant's, or this deployment's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.contrib.provider_health.services.answers import (
    FAILING_RUNS,
    FAILING_SHARE,
    Answers,
    AskedModel,
    AssistantAnswers,
    failing_models,
    of_all_assistants,
)

# "account": no credit; "limits": it refuses for the number of requests; "assistant": the same model answers others.
Cause = Literal["provider", "account", "limits", "assistant", "us"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What fails now.

    Attributes:
        asked: the model; None if this deployment is at fault, whatever model is asked.
        answers: how it answered; those of all models if `asked` is None.
        assistant_id: the assistant whose questions alone it does not answer; None if there is no such.
    """

    cause: Cause
    asked: AskedModel | None
    answers: Answers
    assistant_id: int | None = None


def verdicts(recent: Sequence[AssistantAnswers]) -> list[Verdict]:
    """Return what fails now, the most failures first; empty if all is well.

    A failure of the only assistant that asks a model is the provider's: nothing tells them apart.
    """
    found = [_verdict(asked, answers, recent) for asked, answers in failing_models(recent).items()]
    all_answers = sum(of_all_assistants(recent).values(), Answers())
    if all_answers.own >= max(FAILING_RUNS, FAILING_SHARE * all_answers.runs):
        found.append(Verdict("us", None, all_answers))
    return sorted(found, key=lambda one: -(one.answers.own if one.asked is None else one.answers.unanswered))


def _verdict(asked: AskedModel, answers: Answers, recent: Sequence[AssistantAnswers]) -> Verdict:
    of_model = [one for one in recent if one.asked == asked]
    codes: Counter[str] = Counter()
    of_assistants: dict[int, Answers] = {}
    for one in of_model:
        codes[one.code] += one.answers.failed
        of_assistants[one.assistant_id] = of_assistants.get(one.assistant_id, Answers()) + one.answers
    code, failures = codes.most_common(1)[0]
    if code == "provider_quota" and failures:
        return Verdict("account", asked, answers)
    alone = [pk for pk, its in of_assistants.items() if its.unanswered == answers.unanswered]
    if alone and any(its.runs > its.unanswered for pk, its in of_assistants.items() if pk != alone[0]):
        return Verdict("assistant", asked, answers, alone[0])
    is_limited = code == "provider_rate_limited" and failures
    return Verdict("limits" if is_limited else "provider", asked, answers)
