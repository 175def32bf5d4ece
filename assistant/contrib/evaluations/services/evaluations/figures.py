"""Sums up an evaluation: what each prompt's answers cost and how many are as expected, and how they were judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.models.evaluations import UNDER_WAY


@dataclass(frozen=True, slots=True)
class SideFigures:
    """The figures of one prompt. `cost` is in millionths; `expected` counts the answers of which something is expected.

    Attributes:
        seconds: the median of its answers.
        prompt_number: of its version; None for the default prompt, or if nothing was answered.
    """

    answers: int = 0
    errors: int = 0
    expected: int = 0
    passed: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    seconds: float = 0.0
    prompt_number: int | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of an evaluation; judgements are counted by `EvaluationCase.Verdict`."""

    questions: int
    sides: Mapping[str, SideFigures]
    judged: Mapping[str, int]
    judged_by_model: Mapping[str, int]

    @property
    def done(self) -> int:
        """How many answers there are."""
        return sum(side.answers for side in self.sides.values())

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return asdict(self)


def figures_of(cases: Sequence[EvaluationCase]) -> Figures:
    """Return the figures of an evaluation's questions, loaded with their results."""
    results = [result for case in cases for result in case.results.all()]
    return Figures(
        questions=len(cases),
        sides={str(side): _side([one for one in results if one.side == side]) for side in EvaluationResult.Side.values},
        judged=_counted(case.verdict for case in cases),
        judged_by_model=_counted(case.model_verdict for case in cases),
    )


def _side(results: Sequence[EvaluationResult]) -> SideFigures:
    if not results:
        return SideFigures()
    return SideFigures(
        answers=len(results),
        errors=sum(bool(one.error) for one in results),
        expected=sum(one.is_passed is not None for one in results),
        passed=sum(one.is_passed is True for one in results),
        calls=sum(len(one.calls) for one in results),
        input_tokens=sum(one.input_tokens for one in results),
        output_tokens=sum(one.output_tokens for one in results),
        cost=sum(one.cost for one in results),
        seconds=round(median(one.milliseconds for one in results) / 1000, 3),
        prompt_number=results[0].prompt_number,
    )


def _counted(verdicts: Any) -> dict[str, int]:
    counts = Counter(verdicts)
    return {str(verdict): counts[verdict] for verdict in EvaluationCase.Verdict.values}


def progress_of(evaluation: Evaluation, figures: Figures, *, has_draft: bool) -> tuple[int, int] | None:
    """Return how many of how many answers there are while an evaluation is under way; else None."""
    sides = len(EvaluationResult.Side.values) if has_draft else 1
    return (figures.done, figures.questions * sides) if evaluation.state in UNDER_WAY else None
