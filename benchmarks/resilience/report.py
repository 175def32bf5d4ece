"""The table of figures and goals, at the terminal and in `results.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.report import Line, commit, machine


@dataclass(frozen=True, slots=True)
class Caught:
    """What a check said when something was broken on purpose."""

    what: str
    figure: str
    value: str
    is_caught: bool


@dataclass(slots=True)
class Outcome:
    """One check's figures, and its planted faults."""

    name: str
    title: str
    how: str
    lines: Sequence[Line] = ()
    seconds: float = 0.0
    caught: Sequence[Caught] = field(default_factory=list)


def show(outcome: Outcome) -> str:
    """A check as text for people at a terminal."""
    text = [f"\n{outcome.title} ({outcome.name}, {outcome.seconds:.0f} s)"]
    for line in outcome.lines:
        what, value, bound, verdict, beside = line.cells()
        text.append(f"  {verdict.upper() or '-':7} {what}: {value}{f' ({bound})' if bound else ''}  {beside}".rstrip())
    for caught in outcome.caught:
        word = "caught" if caught.is_caught else "NOT CAUGHT"
        text.append(f"  {word:7} planted: {caught.what} -> {caught.figure}: {caught.value}")
    return "\n".join(text)


def document(outcomes: Sequence[Outcome], loads: Sequence[float]) -> str:
    """`results.md`."""
    goals = [line for outcome in outcomes for line in outcome.lines if line.goal is not None]
    missed = sum(line.verdict == "missed" for line in goals)
    planted = [caught for outcome in outcomes for caught in outcome.caught]
    head = [
        "# Results of `make resilience`",
        "",
        f"{machine()} Measured on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC at commit {commit()}.",
        "",
        f"{len(goals) - missed} of {len(goals)} goals held, {missed} missed; "
        f"{sum(caught.is_caught for caught in planted)} of {len(planted)} planted faults caught. The machine's load "
        f"average was between {min(loads):.1f} and {max(loads):.1f}.",
        "",
        "| Check | Figure | Value | Goal | | Beside it |",
        "|---|---|---|---|---|---|",
        *(
            f"| {outcome.title} | {' | '.join(cell.replace('|', chr(92) + '|') for cell in line.cells())} |"
            for outcome in outcomes
            for line in outcome.lines
        ),
    ]
    return "\n".join([*head, *(text for outcome in outcomes for text in _section(outcome)), ""])


def _section(outcome: Outcome) -> list[str]:
    faults = [
        f"- Planted: {caught.what}. {caught.figure[0].upper()}{caught.figure[1:]}: {caught.value}, "
        f"{'caught' if caught.is_caught else '**not caught**'}."
        for caught in outcome.caught
    ]
    return [
        "",
        f"## {outcome.title}",
        "",
        f"{outcome.how} ({outcome.seconds:.0f} s)",
        *([""] if faults else []),
        *faults,
    ]
