"""Counts where answers say what no source has: by assistant, version of the prompt, model and tool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from django.db.models import Case, CharField, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Cast, Concat

from assistant.contrib.receipts.models import Receipt

By = Literal["assistant", "prompt", "model", "tool"]
KINDS: tuple[By, ...] = get_args(By)
# Lines of a table, those with the most that is amiss; answers that are listed; receipts that are read for the table of
# tools, the newest: their names stand in lists.
MAX_LINES = 100
MAX_ANSWERS = 50
MAX_READ = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """What was counted of one assistant, version, model or tool.

    Attributes:
        tenant: the name of its tenant; "" for a model or tool, which several may have.
        answers: answers with a receipt.
        unsupported: values that no source has, of `values`.
        unsupported_actions: claims of actions that no call has done.
        not_checked: of the answers those of which nothing is known, since they were not checked in time.
    """

    name: str
    tenant: str
    answers: int
    values: int
    unsupported: int
    unsupported_actions: int
    not_checked: int

    @property
    def percent(self) -> float:
        """Which part of the values no source has, in percent."""
        return 100 * self.unsupported / self.values if self.values else 0.0


def counts_of(*, tenant_id: int, run_id: int) -> dict[str, int]:
    """Return what was counted of a run's answer, for webhooks; nothing if it has no receipt."""
    rows = Receipt.objects.filter(tenant_id=tenant_id, run_id=run_id)
    receipt = rows.only("values", "unsupported", "unsupported_actions", "is_checked").first()
    if receipt is None:
        return {}
    if not receipt.is_checked:
        return {"not_checked": 1}
    return {
        "values": receipt.values,
        "unsupported": receipt.unsupported,
        "unsupported_actions": receipt.unsupported_actions,
    }


def lines_by(by: By, rows: QuerySet[Receipt]) -> list[Line]:
    """Return the counts of some receipts by one kind, the most that is amiss first; one query."""
    lines = _by_tool(rows) if by == "tool" else _grouped(by, rows)
    lines.sort(
        key=lambda line: (-line.unsupported - line.unsupported_actions - line.not_checked, -line.values, line.name)
    )
    return lines[:MAX_LINES]


def answers_amiss(rows: QuerySet[Receipt]) -> Sequence[Receipt]:
    """Return the newest of some receipts with something that no source supports, or of answers that were not checked,
    with run, assistant and tenant."""
    amiss = rows.filter(Q(unsupported__gt=0) | Q(unsupported_actions__gt=0) | Q(is_checked=False))
    return list(amiss.select_related("run__assistant", "tenant").order_by("-created_at")[:MAX_ANSWERS])


def _grouped(by: By, rows: QuerySet[Receipt]) -> list[Line]:
    match by:
        case "assistant":
            named = rows.annotate(line=F("run__assistant__name"), of=F("tenant__name"))
            keys = ["run__assistant"]
        case "prompt":
            number = Concat(
                F("run__assistant__name"), Value(" · "), Cast(F("run__prompt_version__number"), CharField())
            )
            named = rows.annotate(line=number, of=F("tenant__name"))
            keys = ["run__prompt_version"]
        case _:
            answered = Case(When(run__fallback_model="", then=F("run__model")), default=F("run__fallback_model"))
            named = rows.annotate(line=answered, of=Value(""))
            keys = []
    sums = (
        named.order_by()
        .values(*keys, "line", "of")
        .annotate(
            answers=Count("pk"),
            all_values=Sum("values"),
            all_unsupported=Sum("unsupported"),
            all_actions=Sum("unsupported_actions"),
            all_not_checked=Count("pk", filter=Q(is_checked=False)),
        )
    )
    return [
        Line(
            one["line"] or "—",
            one["of"],
            one["answers"],
            one["all_values"],
            one["all_unsupported"],
            one["all_actions"],
            one["all_not_checked"],
        )
        for one in sums
    ]


def _by_tool(rows: QuerySet[Receipt]) -> list[Line]:
    """Return a line for each tool. An answer counts for each tool that its run has called."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    newest = rows.order_by("-created_at").values_list(
        "tools", "values", "unsupported", "unsupported_actions", "is_checked"
    )
    for tools, values, unsupported, actions, is_checked in newest[:MAX_READ]:
        for name in tools:
            for place, number in enumerate((1, values, unsupported, actions, not is_checked)):
                sums[name][place] += number
    return [Line(name, "", *counts) for name, counts in sums.items()]
