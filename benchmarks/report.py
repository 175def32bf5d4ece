"""Figures, the goals they are held against, and the table that is written of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import isnan
from pathlib import Path

# The verdict on a figure that misses its goal here, and holds it at the speed of the goal's machine.
HELD_THERE = "held there"
# Of each family its last measurement.
KEPT = Path(__file__).parent / "results"
PACKAGES = ("Django", "openai", "aiohttp", "uvicorn", "websockets", "channels", "msgspec", "psycopg", "redis")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure; with a `goal` it is held or missed.

    Args:
        value: the median of the rounds, in `unit`.
        goal: at most this, or at least this with `is_floor`; None for what is only shown.
        beside: what others took, or what the figure is made of.
        is_work: a time, or a rate, that is longer or lower on a slower machine, and by as much.
        slowness: of this machine beside that on which the goal was set.
        at_its_load: the value with as much less to do as this machine is slower, where work that waits is not slower in
            proportion, but in a queue. None on a machine that is not slower.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    is_floor: bool = False
    beside: str = ""
    is_work: bool = False
    slowness: float = 1.0
    at_its_load: float | None = None

    @property
    def there(self) -> float:
        """What the value would be on the machine on which the goal was set."""
        if self.at_its_load is not None:
            return self.at_its_load
        if not self.is_work:
            return self.value
        return self.value * self.slowness if self.is_floor else self.value / self.slowness

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        if self.at_its_load is not None and self._holds(self.value):
            return "held"  # with all there is to do, and on a slower machine
        if not self._holds(self.there):
            return "missed"  # also what only a faster machine holds
        return "held" if self._holds(self.value) else HELD_THERE

    def _holds(self, value: float) -> bool:
        assert self.goal is not None
        return value >= self.goal if self.is_floor else value <= self.goal

    def cells(self) -> tuple[str, str, str, str, str]:
        bound = "" if self.goal is None else f"{'at least' if self.is_floor else 'at most'} {number(self.goal)}"
        value = f"{number(self.value)} {self.unit}".strip()
        if (self.is_work and self.slowness != 1.0) or self.at_its_load is not None:
            value += f", {number(self.there)} there"
        return self.what, value, bound, self.verdict, self.beside


@dataclass(frozen=True, slots=True)
class Section:
    """One family of rows, and how it was measured."""

    title: str
    how: str
    lines: Sequence[Line]


def number(value: float) -> str:
    """Three digits that count, with commas in large numbers."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def beside_of(values: Mapping[str, float]) -> str:
    """Return the figures of others, by name, as the text beside a line."""
    return ", ".join(f"{name} {'not finished' if isnan(value) else number(value)}" for name, value in values.items())


def times(value: float) -> str:
    """Return a ratio as text."""
    return f"{number(value)}x"


def show(section: Section) -> str:
    """A section as text for people at a terminal."""
    lines = [f"\n{section.title}"]
    for line in section.lines:
        what, value, bound, verdict, beside = line.cells()
        lines.append(f"  {verdict.upper() or '-':7} {what}: {value}{f' ({bound})' if bound else ''}  {beside}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Family:
    """What was measured together; `measured` says when, and of which commit."""

    name: str
    sections: Sequence[Section]
    slowness: float
    measured: str

    def keep(self) -> None:
        """Store it as the family's last measurement: all together take an hour, and can be taken one by one."""
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def now(loads: Sequence[float]) -> str:
    """When, of what and on which processor it is measured; `loads`, the machine's load averages meanwhile."""
    load = f"load average {min(loads):.1f} to {max(loads):.1f}"
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC at commit {commit()}, {processor()}, {load}"


def kept(names: Sequence[str]) -> list[Family]:
    """The last measurements of these families, of those that have one."""
    found = []
    for path in (KEPT / f"{name}.json" for name in names):
        if path.is_file():
            stored = json.loads(path.read_text())
            sections = [
                Section(one["title"], one["how"], [Line(**line) for line in one["lines"]])
                for one in stored.pop("sections")
            ]
            found.append(Family(sections=sections, **stored))
    return found


def document(names: Sequence[str]) -> str:
    """`results.md`, of the last measurement of each of these families."""
    families = kept(names)
    missing = sorted({*names} - {family.name for family in families})
    sections = [(section, family) for family in families for section in family.sections]
    goals = [line for section, _ in sections for line in section.lines if line.goal is not None]
    verdicts = [line.verdict for line in goals]
    slow = [family.slowness for family in families] or [1.0]
    head = [
        "# Results of `make bench`",
        "",
        f"{machine()} Each family says when it was measured, of which commit, and on which processor."
        + (f" Not measured yet: {', '.join(missing)}." if missing else ""),
        "",
        f"Of {len(goals)} goals {verdicts.count('held')} held, {verdicts.count(HELD_THERE)} held there, "
        f"{verdicts.count('missed')} missed. *There* is the machine on which the goals were set: of the same loop "
        f"over the openai package's typed client a turn takes {min(slow):.2f} to {max(slow):.2f} times as much CPU "
        "here (`benchmarks/speed.py`), and work that is timed is held against the goal once as it is and once divided "
        "by that. Latencies of many streams are, once with all of them and once with as many fewer. Other waiting, "
        "memory and ratios are held against the goal as they are. CPU figures are the process's own CPU time, so that "
        "other work on the machine distorts them less; but it does (shared caches, hyper-threads), and other machines "
        "have other times. What counts are the ratios between figures of one run: what is compared was measured in "
        "turn, round by round, and values are then medians over the rounds.",
    ]
    return "\n".join([*head, *(text for section in sections for text in _table(*section)), ""])


def _table(section: Section, family: Family) -> list[str]:
    rows = ["| " + " | ".join(line.cells()) + " |" for line in section.lines]
    head = ["| What | Value | Goal | | Beside it |", "|---|---|---|---|---|"]
    return ["", f"## {section.title}", "", f"{section.how} ({family.measured})", "", *head, *rows]


def machine() -> str:
    """The machine, but for its processor, and the versions, as a sentence."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, {packages}."
    )


def processor() -> str:
    """The processor's name: what is measured at another time may be measured on another."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), platform.machine())


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
