"""Figures, the goals they are held against, and the table that is written of them."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("Django", "openai", "aiohttp", "uvicorn", "websockets", "channels", "msgspec", "psycopg", "redis")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure; with a `goal` it is held or missed.

    Args:
        value: the median of the rounds, in `unit`.
        goal: at most this, or at least this with `is_floor`; None for what is only shown.
        beside: what others took, or what the figure is made of.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    is_floor: bool = False
    beside: str = ""

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "held" if (self.value >= self.goal if self.is_floor else self.value <= self.goal) else "missed"

    def cells(self) -> tuple[str, str, str, str, str]:
        bound = "" if self.goal is None else f"{'at least' if self.is_floor else 'at most'} {number(self.goal)}"
        return self.what, f"{number(self.value)} {self.unit}".strip(), bound, self.verdict, self.beside


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


def times(value: float) -> str:
    return f"{number(value)}x"


def show(section: Section) -> str:
    """A section as text for people at a terminal."""
    lines = [f"\n{section.title}"]
    for line in section.lines:
        what, value, bound, verdict, beside = line.cells()
        lines.append(f"  {verdict.upper() or '-':7} {what}: {value}{f' ({bound})' if bound else ''}  {beside}")
    return "\n".join(lines)


def document(sections: Sequence[Section], loads: Sequence[float]) -> str:
    """`results.md`."""
    goals = [line for section in sections for line in section.lines if line.goal is not None]
    missed = sum(line.verdict == "missed" for line in goals)
    head = [
        "# Results of `make bench`",
        "",
        f"{machine()} Measured on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC at commit {commit()}.",
        "",
        f"{len(goals) - missed} of {len(goals)} goals held, {missed} missed. The machine's load average was between "
        f"{min(loads):.1f} and {max(loads):.1f}. CPU figures are the process's own CPU time, so that other work on "
        "the machine distorts them less; but it does (shared caches, hyper-threads), and other machines have other "
        "times. What counts are the ratios between figures of one run: everything compared was measured in turn, "
        "round by round. Values are medians over the rounds.",
    ]
    return "\n".join([*head, *(text for section in sections for text in _table(section)), ""])


def _table(section: Section) -> list[str]:
    rows = ["| " + " | ".join(line.cells()) + " |" for line in section.lines]
    head = ["| What | Value | Goal | | Beside it |", "|---|---|---|---|---|"]
    return ["", f"## {section.title}", "", section.how, "", *head, *rows]


def machine() -> str:
    """The machine and the versions, as a sentence or two."""
    cpu = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{len(cpu)} cores of {cpu[0] if cpu else platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, {packages}."
    )


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
