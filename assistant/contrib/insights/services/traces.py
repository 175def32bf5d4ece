"""What runs say for and against a cause: who shows the step, and who does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from assistant.contrib.insights.services.day_sums import SEARCH
from assistant.contrib.insights.services.findings import FAILED_CALLS, Finding, Slice
from assistant.contrib.insights.services.steps import Share, deviations_of

# Runs on each side that a comparison needs, and when it speaks for a cause and against it, in deviations.
LEAST_RUNS = 10
CLEAR = 3.0
UNCLEAR = 1.0
SPREAD = 2.5
# A tool whose part of the runs has fallen below this part of what it was is not called any more.
_GONE = 0.3
# Before and since: the part of runs that called a tool, were of a model and so on.
Word = Literal[
    "only",
    "not-only",
    "all",
    "none",
    "unused",
    "stopped",
    "refused",
    "used",
    "new",
    "over",
    "fails",
    "elsewhere",
    "unlike",
]
Dimension = Literal["language", "model", "tool"]


@dataclass(frozen=True, slots=True)
class Trace:
    """One thing that runs say about a cause.

    Attributes:
        word: what it is; `only`: those show it and the others do not.
        weight: what the score is multiplied by.
        those: of the runs that it is about, since the step.
        others: of the rest, or of the same before the step.
    """

    word: Word
    weight: float
    name: str = ""
    those: Share | None = None
    others: Share | None = None


def together(shares: list[Share]) -> Share:
    return Share(sum(one.bad for one in shares), sum(one.runs for one in shares))


def _parted(slices: list[Slice], name: str, value: object) -> tuple[Share, Share, Share, Share]:
    """Return the shares of the slices with a value before and since, and of the others before and since."""
    theirs = [one for one in slices if getattr(one, name) == value]
    others = [one for one in slices if getattr(one, name) != value]
    return (
        together([one.before for one in theirs]),
        together([one.since for one in theirs]),
        together([one.before for one in others]),
        together([one.since for one in others]),
    )


def _contrast(name: str, theirs: Share, others: Share, others_before: Share) -> Trace | None:
    """Return what a comparison says: those alone are bad, or the others have become worse, too; None if neither."""
    if min(theirs.runs, others.runs) < LEAST_RUNS:
        return None
    if deviations_of(theirs, others) >= CLEAR:
        return Trace("only", 2.5, name, theirs, others)
    has_spread = deviations_of(others, others_before) >= SPREAD and deviations_of(theirs, others) < UNCLEAR
    return Trace("not-only", 0.3, name, theirs, others) if has_spread else None


def _before(finding: Finding) -> Share:
    return together([one.before for one in finding.slices_of()])


def _is_new(before: Share, since: Share) -> bool:
    """Return whether runs of something have begun at about the step, or are as bad as since then."""
    is_few = before.runs < LEAST_RUNS or before.runs * 5 < since.runs
    return is_few or (before.runs < since.runs and deviations_of(since, before) < UNCLEAR)


def of_prompt(finding: Finding, number: int) -> Iterator[Trace]:
    """Yield what runs with a prompt version say."""
    slices = finding.slices_of()
    before, since, others, others_since = _parted(slices, "prompt_number", number)
    name = f"v{number}"
    if not since.runs:
        yield Trace("none", 0.1, name)
        return
    if before.runs >= LEAST_RUNS and deviations_of(since, before) >= CLEAR:
        # It answered well before.
        yield Trace("not-only", 0.3, name, since, before)
    contrast = _contrast(name, since, others_since, others)
    if contrast is not None:
        yield contrast
    elif not others_since.runs or since.runs > 2 * others_since.runs:
        yield Trace("new", 1.8, name, since) if _is_new(before, since) else Trace("all", 1.0, name, since)


def of_tool(finding: Finding, tool: str, *, is_off: bool) -> Iterator[Trace]:
    """Yield what the calls of a tool say about a switch of it."""
    slices = [one for one in finding.slices if one.tool == tool]
    before = together([one.before for one in slices]).runs
    since = together([one.since for one in slices])
    every_before = together([one.before for one in finding.slices_of()]).runs
    every = together([one.since for one in finding.slices_of()])
    refused = sum(one.refused for one in slices)
    if not before and not since.runs:
        yield Trace("unused", 0.1, tool)
    elif is_off:
        if refused >= LEAST_RUNS / 2:
            yield Trace("refused", 2.5, tool, Share(refused, every.runs))
        elif before >= LEAST_RUNS / 2 and since.runs * every_before < _GONE * before * every.runs:
            yield Trace("stopped", 2.0, tool, Share(since.runs, every.runs), Share(before, every_before))
        else:
            yield Trace("used", 0.4, tool, Share(since.runs, every.runs), Share(before, every_before))
    elif before >= LEAST_RUNS:
        yield Trace("used", 0.3, tool, Share(since.runs, every.runs), Share(before, every_before))
    else:
        contrast = _contrast(tool, since, _without(every, since), _before(finding))
        if contrast is not None:
            yield contrast


def of_server(finding: Finding, server: str) -> Iterator[Trace]:
    """Yield what calls of an external server's tools say."""
    theirs = [one for one in finding.slices if one.tool.startswith(f"{server}__")]
    since = together([one.since for one in theirs])
    if not since.runs and not together([one.before for one in theirs]).runs:
        yield Trace("unused", 0.1, server)
        return
    every = together([one.since for one in finding.slices_of()])
    contrast = _contrast(server, since, _without(every, since), _before(finding))
    if contrast is not None:
        yield contrast


def of_model(finding: Finding, model: str) -> Iterator[Trace]:
    """Yield what runs of a model say that was chosen; "" if the change names none."""
    if not model:
        return
    before, since, others, others_since = _parted(finding.slices_of(), "model", model)
    if not since.runs:
        yield Trace("none", 0.1, model)
        return
    contrast = _contrast(model, since, others_since, others)
    if contrast is not None:
        yield contrast
    elif since.runs > 2 * others_since.runs:
        yield Trace("new", 1.6, model, since) if _is_new(before, since) else Trace("all", 0.8, model, since)


def of_provider(finding: Finding, provider: str) -> Iterator[Trace]:
    """Yield what runs of a provider say that was chosen, or whose settings were changed."""
    before, since, others, others_since = _parted(finding.slices_of(), "provider", provider)
    if not since.runs and not before.runs:
        yield Trace("unused", 0.0, provider)
        return
    contrast = _contrast(provider, since, others_since, others)
    if contrast is not None:
        yield contrast
    elif _is_new(before, since) and since.runs > 2 * others_since.runs:
        yield Trace("new", 1.6, provider, since)


def of_documents(finding: Finding, *, is_gone: bool) -> Iterator[Trace]:
    """Yield what runs that search documents say; searches find nothing since one is gone, and less is liked of more."""
    searched = together([one.since for one in finding.slices if one.tool == SEARCH])
    every = together([one.since for one in finding.slices_of()])
    if not searched.runs:
        yield Trace("unused", 0.05, SEARCH)
        return
    if is_gone is not (finding.measure.slug == "nothing-found"):
        yield Trace("unlike", 0.5, SEARCH)
    contrast = _contrast(SEARCH, searched, _without(every, searched), _before(finding))
    if contrast is not None:
        yield contrast


def of_everything(finding: Finding) -> Iterator[Trace]:
    """Yield what speaks against a change of the whole tenant or deployment: one prompt shows it alone."""
    slices = finding.slices_of()
    for value in sorted({one.prompt_number for one in slices}):
        _then, since, before, others = _parted(slices, "prompt_number", value)
        contrast = _contrast(f"v{value}", since, others, before)
        if contrast is not None and contrast.word == "only":
            yield Trace("elsewhere", 0.5, f"v{value}", since, others)


def failing_providers(finding: Finding) -> Iterator[tuple[str, tuple[Trace, ...]]]:
    """Yield the providers whose runs fail, with what speaks for it: the others do not, or it is over again."""
    if finding.measure.slug != "failed":
        return
    slices = finding.slices_of()
    for provider in sorted({one.provider for one in slices if one.provider}):
        _then, since, before, others = _parted(slices, "provider", provider)
        left = [trace for trace in (_contrast(provider, since, others, before),) if trace is not None]
        if not since.bad or any(trace.word == "not-only" for trace in left):
            continue
        left.append(Trace("fails", 0.8, provider, since))
        if finding.step.is_over:
            left.append(Trace("over", 1.5, provider))
        yield provider, tuple(left)


def new_models(finding: Finding) -> Iterator[tuple[str, tuple[Trace, ...]]]:
    """Yield the models that answer since the step, and did not before."""
    slices = finding.slices_of()
    every = together([one.since for one in slices]).runs
    for model in sorted({one.model for one in slices if one.model}):
        before, since, others_before, others = _parted(slices, "model", model)
        if not _is_new(before, since) or since.runs * 5 < every:
            continue
        contrast = _contrast(model, since, others, others_before)
        yield model, (Trace("new", 1.0, model, since), *([contrast] if contrast is not None else ()))


def failing_tools(finding: Finding) -> Iterator[tuple[str, tuple[Trace, ...]]]:
    """Yield the tools whose calls fail since the step, and did not before."""
    if finding.measure is not FAILED_CALLS:
        return
    for tool in sorted({one.tool for one in finding.slices if one.tool}):
        before, since, _others, _rest = _parted(finding.slices_of(), "tool", tool)
        if since.runs >= LEAST_RUNS and deviations_of(since, before) >= CLEAR:
            yield tool, (Trace("fails", 1.0, tool, since, before),)


def places(finding: Finding) -> list[tuple[Dimension, Trace]]:
    """Return where it shows: languages, models and tools whose runs are worse than the others, the clearest first."""
    slices = finding.slices_of()
    values: tuple[tuple[Dimension, Callable[[Slice], str]], ...] = (
        ("language", lambda one: one.language),
        ("model", lambda one: one.model),
    )
    found: list[tuple[float, Dimension, Trace]] = []
    for dimension, value_of in values:
        for value in sorted({value_of(one) for one in slices} - {""}):
            theirs = together([one.since for one in slices if value_of(one) == value])
            found += _place(dimension, value, theirs, together([one.since for one in slices]))
    for tool in sorted({one.tool for one in finding.slices if one.tool}):
        theirs = together([one.since for one in finding.slices if one.tool == tool])
        found += _place("tool", tool, theirs, together([one.since for one in slices]))
    return [(dimension, trace) for _clear, dimension, trace in sorted(found, key=lambda one: (-one[0], one[2].name))]


def _place(dimension: Dimension, name: str, theirs: Share, every: Share) -> list[tuple[float, Dimension, Trace]]:
    others = _without(every, theirs)
    deviations = deviations_of(theirs, others)
    is_enough = min(theirs.runs, others.runs) >= LEAST_RUNS
    return (
        [(deviations, dimension, Trace("only", 1.0, name, theirs, others))] if is_enough and deviations >= CLEAR else []
    )


def _without(every: Share, theirs: Share) -> Share:
    return Share(max(0, every.bad - theirs.bad), max(0, every.runs - theirs.runs))
