"""`manage.py assistant_evaluate`: replays a saved evaluation; its exit code tells CI whether the draft is as good."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from assistant.contrib.evaluations.models import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.services.evaluations.background import run_evaluation
from assistant.contrib.evaluations.services.evaluations.evaluations import EvaluationRefused, begin
from assistant.contrib.evaluations.services.evaluations.figures import Figures, SideFigures, figures_of
from assistant.core.values.pricing import MILLIONTHS
from assistant.management.operator import OperatorCommand
from assistant.models import PromptVersion
from assistant.services.runs.manager import get_runs
from assistant.services.tenancy.memberships import find_user

Side = EvaluationResult.Side
# Exit codes: a threshold was not met; the evaluation did not run to its end.
NOT_MET, NOT_RUN = 1, 2


class Command(OperatorCommand):
    help = (
        "Replay a saved evaluation against the published prompt and the draft. Exits with 1 if a threshold is not met, "
        "and with 2 if it could not be run to its end. Thresholds are about the draft; without one, about what is "
        "published."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="The tenant's slug.")
        parser.add_argument("assistant", help="The assistant's slug.")
        parser.add_argument("evaluation", help="The evaluation's name or id.")
        parser.add_argument("--draft", type=int, metavar="NUMBER", help="The version; default the evaluation's.")
        parser.add_argument("--as", dest="run_as", metavar="USERNAME", help="The member; default who made it.")
        parser.add_argument(
            "--min-passed",
            type=_share,
            default=1.0,
            metavar="SHARE",
            help="Of the answers of which something is expected, how many must be so: 0 to 1, default 1.",
        )
        parser.add_argument(
            "--max-errors", type=int, default=0, metavar="N", help="Answers that may fail; default none."
        )
        parser.add_argument(
            "--max-worse", type=int, metavar="N", help="Answers that the judge may find worse; default any number."
        )
        parser.add_argument(
            "--max-cost", type=float, metavar="FACTOR", help="The draft's cost by the published one's; default any."
        )
        parser.add_argument("--json", action="store_true", help="Print the figures and every answer as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        evaluation = _find(options["tenant"], options["assistant"], options["evaluation"])
        _choose(evaluation, options["draft"], options["run_as"])
        try:
            begin(evaluation=evaluation, in_background=False)
        except EvaluationRefused as exc:
            raise CommandError(str(exc), returncode=NOT_RUN) from exc
        asyncio.run(self._run(evaluation, is_quiet=options["json"]))
        evaluation.refresh_from_db()
        cases = list(evaluation.cases.prefetch_related("results"))
        figures = figures_of(cases)
        problems = _problems(figures, options)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(evaluation, cases, figures, problems), indent=2, ensure_ascii=False))
        else:
            self._print(figures)
        if evaluation.state != Evaluation.State.DONE:
            raise CommandError(f"It ended as {evaluation.state}. {evaluation.problem}".strip(), returncode=NOT_RUN)
        if problems:
            raise CommandError(" ".join(problems), returncode=NOT_MET)

    async def _run(self, evaluation: Evaluation, *, is_quiet: bool) -> None:
        show = None if is_quiet else self._show
        try:
            await run_evaluation(tenant_id=evaluation.tenant_id, pk=evaluation.pk, on_result=show)
        finally:
            await get_runs().stop()

    def _show(self, result: EvaluationResult) -> None:
        word = {True: "as expected", False: "NOT as expected", None: "answered"}[result.is_passed]
        self.stdout.write(f"{result.case.position:>3} {result.side:<9} {result.error or word}")

    def _print(self, figures: Figures) -> None:
        for name, side in figures.sides.items():
            if side.answers:
                self.stdout.write(f"{name}: {_line(side)}")
        judged = {name: count for name, count in figures.judged_by_model.items() if count}
        if judged:
            self.stdout.write(f"The judge finds the draft: {', '.join(f'{n} {name}' for name, n in judged.items())}.")


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _find(tenant: str, assistant: str, named: str) -> Evaluation:
    rows = Evaluation.objects.select_related("tenant", "assistant", "prompt_version", "run_as")
    rows = rows.filter(tenant__slug=tenant, assistant__slug=assistant)
    found = rows.filter(name=named).first()
    if found is None and named.isascii() and named.isdigit() and len(named) < 19:
        found = rows.filter(pk=int(named)).first()
    if found is None:
        raise CommandError(f"{tenant}/{assistant} has no evaluation {named!r}.", returncode=NOT_RUN)
    return found


@transaction.atomic
def _choose(evaluation: Evaluation, number: int | None, username: str | None) -> None:
    """Store which version and whose name are used from now on, if they are given."""
    if number is not None:
        versions = PromptVersion.objects.filter(
            assistant=evaluation.assistant_id, assistant__tenant=evaluation.tenant_id
        )
        evaluation.prompt_version = versions.filter(number=number).first()
        if evaluation.prompt_version is None:
            raise CommandError(f"The prompt has no version {number}.", returncode=NOT_RUN)
    if username is not None:
        evaluation.run_as = find_user(username)
    evaluation.save(update_fields=["prompt_version", "run_as"])


def _judged_side(figures: Figures) -> SideFigures:
    draft = figures.sides[Side.DRAFT]
    return draft if draft.answers else figures.sides[Side.PUBLISHED]


def _problems(figures: Figures, options: dict[str, Any]) -> list[str]:
    """Return the thresholds that are not met, as sentences."""
    side, published = _judged_side(figures), figures.sides[Side.PUBLISHED]
    worse = figures.judged_by_model[EvaluationCase.Verdict.WORSE]
    problems = []
    if side.passed < options["min_passed"] * side.expected:
        problems.append(f"{side.passed} of {side.expected} answers are as expected.")
    if side.errors > options["max_errors"]:
        problems.append(f"{side.errors} questions failed.")
    if options["max_worse"] is not None and worse > options["max_worse"]:
        problems.append(f"The judge finds {worse} answers worse.")
    if options["max_cost"] is not None and side.cost > options["max_cost"] * published.cost:
        problems.append(f"The draft costs {_money(side.cost)}, the published prompt {_money(published.cost)}.")
    return problems


def _money(cost: int) -> str:
    return f"{settings.ASSISTANT_CURRENCY} {cost / MILLIONTHS:.4f}"


def _line(side: SideFigures) -> str:
    version = "default prompt" if side.prompt_number is None else f"version {side.prompt_number}"
    return (
        f"{version}, {side.passed} of {side.expected} as expected, {side.errors} failed, {side.calls} tool calls, "
        f"{side.input_tokens} tokens in, {side.output_tokens} out, cost {_money(side.cost)}, median {side.seconds} s"
    )


def _as_json(
    evaluation: Evaluation, cases: list[EvaluationCase], figures: Figures, problems: list[str]
) -> dict[str, Any]:
    names = ("answer", "calls", "error", "model", "input_tokens", "output_tokens", "cost", "milliseconds", "is_passed")
    return {
        "evaluation": {"id": evaluation.pk, "name": evaluation.name, "state": evaluation.state},
        "problem": evaluation.problem,
        "not_met": problems,
        "figures": figures.as_json(),
        "questions": [
            {
                "position": case.position,
                "question": case.question,
                "model_verdict": case.model_verdict,
                "model_reason": case.model_reason,
                "results": {one.side: {name: getattr(one, name) for name in names} for one in case.results.all()},
            }
            for case in cases
        ],
    }
