"""What a run of the benchmark shares: the scripted provider, the number of rounds, and how long things may take."""

from __future__ import annotations

from dataclasses import dataclass


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
    rounds: int = 5
    quick: bool = False
    mixed_minutes: float = 2.0
    page_seconds: int = 15

    @property
    def few_rounds(self) -> int:
        """Of what takes long, and is made of thousands of figures each time: an odd number, for its median."""
        return self.rounds // 4 * 2 + 1
