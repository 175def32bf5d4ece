"""Ranks the changes before a step by how well they fit: when, whom they touch, and which runs show it.

Each candidate has a score: the fit of its day, times how usual it is that such a change spoils such a figure, times
what the runs say. Without a model, and without reading a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from assistant.contrib.insights.services import traces
from assistant.contrib.insights.services.findings import Finding
from assistant.contrib.insights.services.traces import Trace
from assistant.models import Assistant, AuditEntry

Kind = Literal[
    "prompt", "tool", "model", "provider", "limits", "quota", "document", "mcp", "release", "tenant", "other"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
# What touches some of the assistants explains less of what became worse for all.
OF_SOME = 0.6
# Below this nothing is named, and so many are.
LEAST_SCORE = 0.08
NAMED = 4
# What spoils what, by the slug of the measure; other measures have the last number.
_USUAL: Mapping[Kind, tuple[Mapping[str, float], float]] = {
    "prompt": ({"failed": 0.4, "failed-calls": 0.4, "refused": 0.6, "nothing-found": 0.6, "cut": 0.8}, 1.0),
    "tool": ({"refused": 1.0, "failed": 0.3, "cut": 0.2, "nothing-found": 0.6, "failed-calls": 0.4}, 0.9),
    "model": ({"nothing-found": 0.6}, 0.95),
    "provider": ({"failed": 1.0, "failed-calls": 0.2, "nothing-found": 0.2}, 0.8),
    "limits": ({"cut": 1.0, "failed": 0.6, "stopped": 0.3, "failed-calls": 0.1, "nothing-found": 0.1}, 0.4),
    "quota": ({"cut": 0.3, "failed": 0.5, "disliked": 0.2}, 0.2),
    "document": (
        {
            "nothing-found": 1.0, "disliked": 0.6, "disliked-searching": 0.7, "asked-again": 0.5, "edited": 0.4,
            "stopped": 0.3,
        },
        0.1,
    ),
    "mcp": ({"failed-calls": 1.0, "failed": 0.5}, 0.6),
    "release": ({"failed-calls": 1.0, "failed": 0.9}, 0.4),
    "tenant": ({}, 0.5),
    "other": ({}, 0.2),
}  # fmt: skip
_BY_BEGINNING: Mapping[str, Kind] = {
    "prompt": "prompt", "promptvariable": "other", "tool": "tool", "toolsetting": "tool", "provider": "provider",
    "document": "document", "collection": "document", "source": "document", "limits": "quota",
    "tenantlimits": "quota", "mcpserver": "mcp", "mcptool": "mcp", "release": "release", "tenant": "tenant",
    "bundle": "tenant", "delegate": "other", "modelprice": "other",
}  # fmt: skip
# Fields of an assistant or a tenant that choose what answers; those that begin with `max_` are limits of a run.
_MODEL_FIELDS = ("default_provider", "provider", "model", "fallback_provider", "fallback_model", "temperature")


@dataclass(frozen=True, slots=True, eq=False)
class Suspect:
    """A change, or what the runs show without one, with its score and the traces that it left.

    Attributes:
        entry: None for what is only seen: `seen` says what it is about.
        traces: what speaks for it and against it.
    """

    kind: Kind
    score: float
    entry: AuditEntry | None
    seen: str = ""
    traces: tuple[Trace, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """The same for one cause of several findings."""
        return (self.kind, self.seen) if self.entry is None else (self.kind, self.entry.pk)


# By how much likelier than a step a slope must be, by the logarithm: more, the better a change fits the step.
_SLOPES = ((0.4, 0.5), (0.75, 4.0), (math.inf, 6.0))


def is_drift(finding: Finding, suspects: Sequence[Suspect]) -> bool:
    """Return whether it became worse day by day, and not on one day for one of these reasons."""
    if finding.slope is None:
        return False
    best = max((one.score for one in suspects), default=0.0)
    return finding.slope.gain >= next(gain for score, gain in _SLOPES if best < score)


def rank(finding: Finding, changes: Sequence[AuditEntry], assistants: Sequence[Assistant]) -> list[Suspect]:
    """Return what may be the cause of a finding, what fits best first; at most `NAMED`.

    Args:
        changes: those of the days around, of any tenant.
        assistants: those of the finding, of one tenant.
    """
    found = list(_changed(finding, changes, assistants))
    for seen in _seen(finding):
        named = [place for place, one in enumerate(found) if seen.kind == one.kind and _explains(one, seen.seen)]
        for place in named:
            # What is seen is what was changed.
            found[place] = replace(found[place], score=max(seen.score, found[place].score))
        found += [] if named else [seen]
    likely = [one for one in found if one.score >= LEAST_SCORE]
    return sorted(likely, key=lambda one: (-one.score, one.entry is None, one.entry.pk if one.entry else 0))[:NAMED]


def _explains(suspect: Suspect, name: str) -> bool:
    """Return whether a change has chosen a model or provider that is seen, or one whose runs have begun with it."""
    if suspect.entry is None:
        return False
    is_named = any(pair[1] == name for pair in changed_fields(suspect.entry).values())
    return is_named or any(trace.word in ("new", "only") for trace in suspect.traces)


def _changed(finding: Finding, changes: Sequence[AuditEntry], assistants: Sequence[Assistant]) -> Iterator[Suspect]:
    for entry in changes:
        fit = finding.fit_of(entry.created_at.date())
        kind = kind_of(entry)
        touched = sum(_touches(entry, kind, assistant) for assistant in assistants)
        if fit and touched:
            left = tuple(_traces(finding, entry, kind))
            score = fit * _usual(finding, kind) * (1.0 if touched == len(assistants) else OF_SOME)
            for trace in left:
                score *= trace.weight
            yield Suspect(kind, score, entry, traces=left)


def kind_of(entry: AuditEntry) -> Kind:
    """Return what a change is of."""
    beginning = entry.action.partition(".")[0]
    if entry.action not in ("assistant.change", "tenant.change"):
        return _BY_BEGINNING.get(beginning, "other")
    fields = changed_fields(entry)
    if any(name in _MODEL_FIELDS for name in fields):
        return "model"
    return "limits" if any(name.startswith("max_") for name in fields) else "other"


def changed_fields(entry: AuditEntry) -> Mapping[str, Sequence[str | None]]:
    """Return the values that a change names, before and after, by their fields."""
    values = entry.details.get("values") if isinstance(entry.details, dict) else None
    pairs = values.items() if isinstance(values, dict) else ()
    return {name: pair for name, pair in pairs if isinstance(pair, list) and len(pair) == 2}


def _usual(finding: Finding, kind: Kind) -> float:
    """Return how usual it is that such a change spoils what became worse; each figure as far as it did."""
    by_measure, other = _USUAL[kind]
    most = max(step.deviations for _measure, step in finding.measures)
    return max(
        by_measure.get(measure.slug, other) * min(1.0, step.deviations / most) for measure, step in finding.measures
    )


def _touches(entry: AuditEntry, kind: Kind, assistant: Assistant) -> bool:
    """Return whether a change is of the assistant, or of all of its tenant or deployment."""
    if entry.tenant_id not in (None, assistant.tenant_id) or entry.action.startswith("modelprice."):
        return False
    beginning = entry.action.partition(".")[0]
    if beginning == "prompt":
        return entry.target.rpartition(" v")[0] == assistant.slug
    if beginning in ("assistant", "delegate"):
        return entry.target in (assistant.name, assistant.slug)
    if kind == "tool":
        slug, colon, _tool = entry.target.rpartition(": ")
        return not colon or slug == assistant.slug
    return True


def _traces(finding: Finding, entry: AuditEntry, kind: Kind) -> Iterator[Trace]:
    if kind == "prompt":
        yield from traces.of_prompt(finding, int(entry.target.rpartition(" v")[2] or 0))
    elif kind == "tool":
        tool = entry.target.rpartition(": ")[2]
        yield from traces.of_tool(finding, tool, is_off=_is_off(entry))
    elif kind == "mcp":
        yield from traces.of_server(finding, entry.target.partition(":")[0])
    elif kind == "model":
        fields = changed_fields(entry)
        model = fields["model"][1] if "model" in fields else ""
        provider = next((fields[name][1] for name in ("provider", "default_provider") if name in fields), "")
        yield from traces.of_model(finding, model) if model else traces.of_provider(finding, provider or "")
    elif kind == "provider":
        yield from traces.of_provider(finding, entry.target)
    elif kind == "document":
        yield from traces.of_documents(finding, is_gone=entry.action.endswith(".delete"))
    elif kind == "other":
        return
    elif kind not in ("limits", "quota"):
        yield from traces.of_everything(finding)


def _is_off(entry: AuditEntry) -> bool:
    details = entry.details if isinstance(entry.details, dict) else {}
    return entry.action == "tool.block" or details.get("policy") in ("off", "ask", "follow")


def _seen(finding: Finding) -> Iterator[Suspect]:
    """Yield what runs show without a change: a provider that fails, another model than before, a tool that fails."""
    for provider, left in traces.failing_providers(finding):
        yield Suspect("provider", 0.9 * _product(left) * _usual(finding, "provider"), None, provider, left)
    for model, left in traces.new_models(finding):
        yield Suspect("model", 0.5 * _product(left) * _usual(finding, "model"), None, model, left)
    for tool, left in traces.failing_tools(finding):
        yield Suspect("tool", 0.1 * _product(left), None, tool, left)


def _product(left: Sequence[Trace]) -> float:
    product = 1.0
    for trace in left:
        product *= trace.weight
    return product
