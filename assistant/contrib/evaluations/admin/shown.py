"""What the page of an evaluation shows of figures and answers."""

from __future__ import annotations

from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from assistant.contrib.evaluations.models import EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.services.evaluations.figures import Figures, SideFigures
from assistant.contrib.panel.admin.lists.cells import money_of

# Characters of texts that are shown, so that the page of fifty questions stays small.
MAX_TEXT, MAX_CALL = 6_000, 400
Side = EvaluationResult.Side


def shown_sides(figures: Figures) -> list[tuple[str, list[str]]]:
    """Return the table of figures: each row's name and its value for both prompts."""
    sides = [figures.sides[side] for side in (Side.PUBLISHED, Side.DRAFT)]
    return [
        (
            _("Version"),
            [
                _("default prompt") if one.prompt_number is None and one.answers else _version(one.prompt_number)
                for one in sides
            ],
        ),
        (_("Answers"), [str(one.answers) for one in sides]),
        (_("Failed"), [str(one.errors) for one in sides]),
        (_("As expected"), [f"{one.passed} / {one.expected}" if one.expected else "—" for one in sides]),
        (_("Tool calls"), [str(one.calls) for one in sides]),
        (_("Tokens in, out"), [_tokens(one) for one in sides]),
        (_("Cost"), [money_of(one.cost) for one in sides]),
        (_("Seconds, median"), [number_format(round(one.seconds, 1), 1) for one in sides]),
    ]


def _tokens(one: SideFigures | EvaluationResult) -> str:
    return " / ".join(number_format(tokens, force_grouping=True) for tokens in (one.input_tokens, one.output_tokens))


def _version(number: int | None) -> str:
    return "—" if number is None else f"v{number}"


def shown_case(case: EvaluationCase, *, is_shown: bool) -> dict[str, Any]:
    """Return a question for the template; without its texts if these may not be shown."""
    results = {result.side: result for result in case.results.all()}
    return {
        "it": case,
        "is_shown": is_shown,
        "recorded": len(case.recorded),
        "results": [
            (side.label, None if side not in results else _result(results[side], is_shown=is_shown))
            for side in (Side.PUBLISHED, Side.DRAFT)
        ],
        "can_be_judged": is_shown and len(results) == len(Side.values),
    }


def _result(result: EvaluationResult, *, is_shown: bool) -> dict[str, Any]:
    return {
        "it": result,
        "answer": result.answer[:MAX_TEXT] if is_shown else "",
        "is_cut": len(result.answer) > MAX_TEXT,
        "calls": [_call(call, is_shown=is_shown) for call in result.calls],
        "tokens": _tokens(result),
        "cost": money_of(result.cost),
        "seconds": number_format(round(result.milliseconds / 1000, 1), 1),
    }


def _call(call: dict[str, Any], *, is_shown: bool) -> dict[str, str]:
    words = {
        "recorded": _("recorded result"),
        "called": _("called"),
        "stubbed": _("not run"),
        "": _("refused") if call["status"] == "refused" else call["status"],
    }
    asks = _(", would ask first") if call.get("asks") else ""
    return {
        "name": call["name"],
        "how": words[call.get("answered", "")] + asks,
        "kind": call.get("answered") or "refused",
        "arguments": call["arguments"][:MAX_CALL] if is_shown else "",
        "result": call["result"][:MAX_CALL] if is_shown else "",
    }
