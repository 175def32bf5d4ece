"""The options of a run of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.workload import Workload

# The goals apply to measurements of at least this length.
ROUNDS, MIXED_MINUTES, PAGE_SECONDS = 5, 30.0, 60


@dataclass(frozen=True, slots=True)
class Bench:
    """The options of a run, and the provider that it asks.

    Args:
        provider_url: the base URL of the scripted provider.
        rounds: how many times each figure is measured.
        quick: small workloads, to try the benchmark itself; the figures mean nothing.
        mixed_minutes: the length of the mixed load.
        page_seconds: how long the browser shows a streamed answer.
    """

    provider_url: str
    rounds: int = ROUNDS
    quick: bool = False
    mixed_minutes: float = MIXED_MINUTES
    page_seconds: int = PAGE_SECONDS

    @property
    def few_rounds(self) -> int:
        """Rounds of a figure that takes long, and of thousands of values or tokens each; odd, for its median."""
        return self.rounds // 4 * 2 + 1

    def sized(self, workload: Workload) -> Workload:
        """Return the workload to measure in this run."""
        return workload.quick() if self.quick else workload

    def is_whole(self, family: str) -> bool:
        """Whether this run measures a family at full length. Shorter runs are shown, and not stored."""
        lengths = {"mixed": self.mixed_minutes >= MIXED_MINUTES, "page": self.page_seconds >= PAGE_SECONDS}
        return not self.quick and self.rounds >= ROUNDS and lengths.get(family, True)
