"""The table of figures and goals, at the terminal and in `results.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.report import Line, machine, now

# The last whole measurement of each check: all of them take over an hour, and can be run one by one.
KEPT = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Caught:
    """The result of a check with a planted fault."""

    what: str
    figure: str
    value: str
    is_caught: bool


@dataclass(slots=True)
class Outcome:
    """The figures of a check and its planted faults; `measured` says when, and at which commit."""

    name: str
    title: str
    how: str
    lines: Sequence[Line] = ()
    seconds: float = 0.0
    caught: Sequence[Caught] = field(default_factory=list)
    measured: str = ""

    def keep(self, loads: Sequence[float]) -> None:
        """Store it as the check's last whole measurement; `loads` are the load averages before and after."""
        self.measured = now(loads)
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def kept(names: Iterable[str]) -> list[Outcome]:
    """Return the last whole measurements of those of these checks that have one."""
    found = []
    for path in (KEPT / f"{name}.json" for name in names):
        if path.is_file():
            stored = json.loads(path.read_text())
            lines, caught = stored.pop("lines"), stored.pop("caught")
            found.append(
                Outcome(lines=[Line(**one) for one in lines], caught=[Caught(**one) for one in caught], **stored)
            )
    return found


def show(outcome: Outcome) -> str:
    """Return a check as text for the terminal."""
    text = [f"\n{outcome.title} ({outcome.name}, {outcome.seconds:.0f} s)"]
    for line in outcome.lines:
        what, value, bound, verdict, beside = line.cells()
        text.append(f"  {verdict.upper() or '-':7} {what}: {value}{f' ({bound})' if bound else ''}  {beside}".rstrip())
    for caught in outcome.caught:
        word = "caught" if caught.is_caught else "NOT CAUGHT"
        text.append(f"  {word:7} planted: {caught.what} -> {caught.figure}: {caught.value}")
    return "\n".join(text)


def document(names: Sequence[str]) -> str:
    """Return the text of `results.md`, from the last whole measurement of each of these checks."""
    outcomes = kept(names)
    missing = sorted({*names} - {outcome.name for outcome in outcomes})
    goals = [line for outcome in outcomes for line in outcome.lines if line.goal is not None]
    missed = sum(line.verdict == "missed" for line in goals)
    planted = [caught for outcome in outcomes for caught in outcome.caught]
    head = [
        "# Results of `make resilience`",
        "",
        f"{machine()} Each check says when it was measured, of which commit, and on which processor.",
        "",
        f"{len(goals) - missed} of {len(goals)} goals held, {missed} missed; "
        f"{sum(caught.is_caught for caught in planted)} of {len(planted)} planted faults caught."
        + (f" Not measured whole yet: {', '.join(missing)}." if missing else ""),
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
        f"{outcome.how} ({outcome.seconds:.0f} s; {outcome.measured})",
        *([""] if faults else []),
        *faults,
    ]
