"""Figures and their goals, as stored JSON and as the page of results."""

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

# The verdict on a figure that misses its goal here, but holds it at the speed of the machine of the goals.
HELD_THERE = "held there"
# The last measurement of each family.
KEPT = Path(__file__).parent / "results"
PACKAGES = ("Django", "openai", "aiohttp", "uvicorn", "websockets", "channels", "msgspec", "psycopg", "redis")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure, which holds or misses its goal if it has one.

    Args:
        what: the title of its row.
        value: the median of the rounds, in `unit`.
        unit: of the value.
        goal: the largest value that holds it, or the smallest with `is_floor`; None for a figure without a goal.
        is_floor: the goal is a lower bound.
        beside: the figures of others, or details.
        is_work: a time or rate that is proportional to the speed of the machine.
        slowness: how many times the CPU this machine takes for the same work as that on which the goal was set.
        at_its_load: the value with a load that is reduced by the slowness, for latencies, which are not proportional to
            the speed. None on a machine that is not slower.
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
        """The value for the machine on which the goal was set."""
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
            return "held"  # with the whole load on a slower machine
        if not self._holds(self.there):
            return "missed"  # also a value that holds only because this machine is faster
        return "held" if self._holds(self.value) else HELD_THERE

    def _holds(self, value: float) -> bool:
        assert self.goal is not None
        return value >= self.goal if self.is_floor else value <= self.goal

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return title, value, goal, verdict and details as text."""
        bound = "" if self.goal is None else f"{'at least' if self.is_floor else 'at most'} {number(self.goal)}"
        value = f"{number(self.value)} {self.unit}".strip()
        if (self.is_work and self.slowness != 1.0) or self.at_its_load is not None:
            value += f", {number(self.there)} there"
        return self.what, value, bound, self.verdict, self.beside


@dataclass(frozen=True, slots=True)
class Section:
    """A table of figures, and how they were measured."""

    title: str
    how: str
    lines: Sequence[Line]


def number(value: float) -> str:
    """Return a number with three significant digits, or with commas if it is large."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def beside_of(values: Mapping[str, float]) -> str:
    """Return the figures of others, by name, as the text beside a line."""
    return ", ".join(f"{name} {'not finished' if isnan(value) else number(value)}" for name, value in values.items())


def against(name: str, ratio: float, unit: str, goal: float) -> list[Line]:
    """Return the line of a ratio to another contestant, with at least `goal`; none if that one did not finish."""
    return [] if isnan(ratio) else [Line(f"the same, against {name}", ratio, unit, goal, True)]


def times(value: float) -> str:
    """Return a ratio as text."""
    return f"{number(value)}x"


def show(section: Section) -> str:
    """Return a section as text for the terminal."""
    lines = [f"\n{section.title}"]
    for line in section.lines:
        what, value, bound, verdict, beside = line.cells()
        lines.append(f"  {verdict.upper() or '-':7} {what}: {value}{f' ({bound})' if bound else ''}  {beside}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Family:
    """Sections that are measured together; `measured` says when, and at which commit."""

    name: str
    sections: Sequence[Section]
    slowness: float
    measured: str

    def keep(self) -> None:
        """Store it as the family's last measurement. All families take an hour, and can be measured one by one."""
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def now(loads: Sequence[float]) -> str:
    """Return time, commit, processor and load of a measurement as text; `loads` are load averages during it."""
    load = f"load average {min(loads):.1f} to {max(loads):.1f}"
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC at commit {commit()}, {processor()}, {load}"


def kept(names: Sequence[str]) -> list[Family]:
    """Return the last measurements of those of these families that have one."""
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
    """Return the text of `results.md`, from the last measurement of each of these families."""
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
        f"{verdicts.count('missed')} missed. *There* is the machine on which the goals were set: a turn of a loop "
        f"over the openai package's typed client takes {min(slow):.2f} to {max(slow):.2f} times as much CPU here "
        "(`benchmarks/speed.py`). Times of work are compared with the goal as they are and divided by that; latencies "
        "of many streams with all of the streams and with as many fewer; ratios, counts, memory and other waiting "
        "only as they are. CPU figures are the process's own CPU time, which other work on the machine still distorts "
        "(shared caches, hyper-threads). Compare the ratios between figures of one run: contestants are measured in "
        "turn, round by round, with the same workload, and values are medians of the rounds.",
    ]
    return "\n".join([*head, *(text for section in sections for text in _table(*section)), ""])


def _table(section: Section, family: Family) -> list[str]:
    rows = ["| " + " | ".join(line.cells()) + " |" for line in section.lines]
    head = ["| What | Value | Goal | | Beside it |", "|---|---|---|---|---|"]
    return ["", f"## {section.title}", "", f"{section.how} ({family.measured})", "", *head, *rows]


def machine() -> str:
    """Return the machine, except its processor, and the versions of packages as a sentence."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, {packages}."
    )


def processor() -> str:
    """Return the name of the processor, which may differ between measurements."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), platform.machine())


def commit() -> str:
    """Return the short hash of the current commit, or "unknown"."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
