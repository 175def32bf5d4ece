"""What a run of the benchmark shares: the scripted provider, the number of rounds, and how long things may take."""

from __future__ import annotations

from dataclasses import dataclass

# The lengths that the goals speak of.
ROUNDS, MIXED_MINUTES, PAGE_SECONDS = 5, 30.0, 60


@dataclass(frozen=True, slots=True)
class Bench:
    """One run.

    Args:
        provider_url: the base URL of the scripted provider.
        rounds: how often everything is measured in turn.
        quick: small sizes, to try the benchmark itself; figures are not to be trusted.
        mixed_minutes: how long the mixed load lasts.
        page_seconds: how long the browser watches a stream.
    """

    provider_url: str
    rounds: int = ROUNDS
    quick: bool = False
    mixed_minutes: float = MIXED_MINUTES
    page_seconds: int = PAGE_SECONDS

    @property
    def few_rounds(self) -> int:
        """Of what takes long, and is made of thousands of figures each time: an odd number, for its median."""
        return self.rounds // 4 * 2 + 1

    def is_whole(self, family: str) -> bool:
        """Whether a family is measured at full length; less is a try, which is shown and not kept."""
        lengths = {"mixed": self.mixed_minutes >= MIXED_MINUTES, "page": self.page_seconds >= PAGE_SECONDS}
        return not self.quick and self.rounds >= ROUNDS and lengths.get(family, True)
