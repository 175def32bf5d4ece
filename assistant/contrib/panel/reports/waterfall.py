"""A run as a waterfall: its requests to the model and its tool calls, with times, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db.models import QuerySet, Sum

from assistant.core.values.pricing import MILLIONTHS
from assistant.models import Run, RunConfiguration, ToolCall, UsageEntry

# Calls that are looked up for one page.
MAX_CALLS = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """One request to the model, or one tool call. Times are milliseconds since the run began; None if not known.

    Attributes:
        name: the model, or the tool.
        first: of a request, from its beginning to the first token.
        status: of a call, one of `ToolCall.Status`; of a request the model's reason to stop.
        cost: in the currency's unit.
        tools: of a request, how many tools were offered.
        call: of a call, its row; None if it was deleted.
        failed: of a request in whose place another one followed, the provider's own reason.
        repeated: of a request, how many further ones it took, because the provider refused a tool.
    """

    kind: Literal["model", "tool"]
    name: str
    at: int | None = None
    ms: int | None = None
    first: int | None = None
    status: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None
    tools: int | None = None
    call: ToolCall | None = None
    failed: str = ""
    repeated: int = 0

    @property
    def status_label(self) -> str:
        """The status for people."""
        return str(dict(ToolCall.Status.choices).get(self.status, self.status))

    @property
    def is_failed(self) -> bool:
        return bool(self.failed) or self.status in FAILED


FAILED = frozenset(
    {
        ToolCall.Status.ERROR,
        ToolCall.Status.UNKNOWN,
        ToolCall.Status.TIMEOUT,
        ToolCall.Status.INTERRUPTED,
        ToolCall.Status.REFUSED,
    }
)
WAITING = frozenset(
    {ToolCall.Status.AWAITING_APPROVAL, ToolCall.Status.APPROVED, ToolCall.Status.RUNNING, ToolCall.Status.PENDING}
)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A run with its steps in the order in which they began.

    Attributes:
        total_ms: until the end of the run, or of its last step.
        has_timeline: whether the run has recorded its times; otherwise those of calls are from their rows, and requests
            to the model are not known.
        cost: in the currency's unit, with the cost of asked assistants and summaries.
        configuration: None if it is not known.
        choices: what was chosen for this run: `options` of the model, `client_tools`, and `context`, the names in the
            tool context.
        reason: the provider's own reason of a failure.
        left: what was not waited for any more: its `name`, since when (`at`), and for how long it then went on (`ms`).
        fallback: the `provider` and `model` that took over and the `reason`; empty if none did.
    """

    run: Run
    steps: tuple[Step, ...]
    total_ms: int
    has_timeline: bool
    cached_tokens: int
    cache_write_tokens: int
    cost: float
    configuration: Mapping[str, Any] | None
    choices: Mapping[str, Any] = field(default_factory=dict)
    error_id: str = ""
    reason: str = ""
    fallback: Mapping[str, Any] = field(default_factory=dict)
    left: Sequence[Mapping[str, Any]] = ()


def waterfalls(*, runs: Sequence[Run], tenant_id: int) -> dict[int, Waterfall]:
    """Return the waterfalls of runs of a tenant by their primary keys; four queries, however many runs."""
    own = [run for run in runs if run.tenant_id == tenant_id]
    calls = _calls(own, tenant_id)
    sums: dict[Any, Mapping[str, Any]] = {
        entry["run"]: entry
        for entry in UsageEntry.objects.filter(tenant_id=tenant_id, run__in=[run.pk for run in own])
        .values("run")
        .order_by()
        .annotate(spent=Sum("cost"), cached=Sum("cached_input_tokens"), written=Sum("cache_write_tokens"))
    }
    known = RunConfiguration.objects.filter(tenant_id=tenant_id, digest__in={run.configuration for run in own} - {""})
    # Of an older version that stored something else nothing is shown.
    configurations = {one: content for one, content in known.values_list("digest", "content") if _is_known(content)}
    return {run.pk: _waterfall(run, calls, sums.get(run.pk, {}), configurations.get(run.configuration)) for run in own}


def _calls(runs: Sequence[Run], tenant_id: int) -> list[ToolCall]:
    """Return the calls of runs, and those of other runs of the same conversations that these have continued."""
    continued = {
        call["id"] for run in runs if isinstance(run.timeline, dict) for call in _list(run.timeline.get("calls"))
    }
    texts = ("arguments", "result", "told", "display", "asked", "questions", "sources")
    rows: QuerySet[ToolCall] = ToolCall.objects.filter(tenant_id=tenant_id).select_related("run", "decided_by")
    rows = rows.defer(*texts, "run__partial", "run__ending").order_by("started_at", "pk")
    ids = [run.pk for run in runs]
    found = list(rows.filter(run__in=ids)[:MAX_CALLS])
    if continued:
        # Asked apart: with an OR, the database reads all calls of the tenant.
        others = rows.filter(run__conversation__in={run.conversation_id for run in runs}, call_id__in=continued)
        found += others.exclude(run__in=ids)[:MAX_CALLS]
    return sorted(found, key=lambda call: (call.started_at, call.pk))[:MAX_CALLS]


def _waterfall(
    run: Run, calls: Sequence[ToolCall], spent: Mapping[str, Any], configuration: Mapping[str, Any] | None
) -> Waterfall:
    kept: Mapping[str, Any] = run.timeline if isinstance(run.timeline, dict) else {}
    by_id = {
        call.call_id: call for call in calls if call.run is not None and call.run.conversation_id == run.conversation_id
    }
    if run.timeline is None:
        steps = [_step_of_row(run, call) for call in calls if call.run_id == run.pk]
    else:
        steps = [_step_of_round(one, run) for one in _list(kept.get("rounds"))]
        steps += [_step_of_call(one, by_id.get(one["id"])) for one in _list(kept.get("calls"))]
    steps.sort(key=lambda step: (step.at is None, step.at or 0))
    ends = [step.at + (step.ms or 0) for step in steps if step.at is not None]
    if run.timeline is None and run.ended_at is not None:
        ends.append(_milliseconds(run.started_at, run.ended_at))
    error = kept.get("error") or {}
    return Waterfall(
        run=run,
        steps=tuple(steps),
        total_ms=max(ends, default=0),
        has_timeline=run.timeline is not None,
        cached_tokens=spent.get("cached") or 0,
        cache_write_tokens=spent.get("written") or 0,
        cost=(spent.get("spent") or 0) / MILLIONTHS,
        configuration=configuration,
        choices={name: kept[name] for name in ("options", "client_tools", "context") if kept.get(name)},
        error_id=str(error.get("id", "")),
        reason=str(error.get("reason", "")),
        fallback=found if isinstance(found := kept.get("fallback"), dict) else {},
        left=_list(kept.get("left")),
    )


def _step_of_round(kept: Mapping[str, Any], run: Run) -> Step:
    cost = kept.get("cost")
    return Step(
        kind="model",
        name=str(kept.get("model") or run.model),
        at=kept.get("at"),
        ms=kept.get("ms"),
        first=kept.get("first"),
        status=str(kept.get("finish", "")),
        input_tokens=kept.get("in"),
        output_tokens=kept.get("out"),
        cached_tokens=kept.get("cached"),
        cache_write_tokens=kept.get("written"),
        cost=None if cost is None else cost / MILLIONTHS,
        tools=kept.get("tools"),
        failed=str(kept.get("failed", "")),
        repeated=kept.get("repeated", 0),
    )


def _step_of_call(kept: Mapping[str, Any], call: ToolCall | None) -> Step:
    status = str(kept.get("status", ""))
    if status == ToolCall.Status.AWAITING_APPROVAL and call is not None:
        status = _answer_to(call)
    elif status == ToolCall.Status.PENDING and call is not None:
        status = str(call.status)
    return Step("tool", str(kept.get("name", "")), kept.get("at"), kept.get("ms"), status=status, call=call)


def _answer_to(call: ToolCall) -> str:
    """Return the status of a call in the run that asked for approval; an approved call is run by another run."""
    if call.status in {ToolCall.Status.AWAITING_APPROVAL, ToolCall.Status.DECLINED, ToolCall.Status.EXPIRED}:
        return str(call.status)
    return str(ToolCall.Status.APPROVED)


def _step_of_row(run: Run, call: ToolCall) -> Step:
    at = _milliseconds(run.started_at, call.started_at)
    return Step("tool", call.name, at, call.duration_ms, status=str(call.status), call=call)


def _milliseconds(since: datetime, until: datetime) -> int:
    return max(0, round((until - since).total_seconds() * 1000))


def _is_known(content: object) -> bool:
    return isinstance(content, dict) and isinstance(content.get("tools"), list)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
