"""What every contestant of a row is asked: one value, so that all of them get the same prompts and answers."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

WARM_UP = "Hello"
# A token of an answer: "word3 " at full speed, the time at which it was sent in a paced answer.
TOKEN = re.compile(rb"word\d |\d{7}\.\d{6}")


@dataclass(frozen=True, slots=True)
class Workload:
    """Clients that each ask for answers of a fixed length, one after the other.

    Args:
        tokens: the length of an answer.
        streams: how many clients ask at the same time.
        answers: how many answers each client asks for.
        rate: tokens a second of each answer; 0 for as fast as they are read.
        opening_seconds: the clients start at random moments within this time; 0 for all at once.
    """

    tokens: int
    streams: int = 1
    answers: int = 1
    rate: int = 0
    opening_seconds: float = 0.0

    @property
    def prompt(self) -> str:
        """The prompt that makes `benchmarks.provider` send such an answer."""
        return f"[tokens={self.tokens} rate={self.rate}]" if self.rate else f"[tokens={self.tokens}]"

    @property
    def total_answers(self) -> int:
        """The answers of all clients."""
        return self.streams * self.answers

    @property
    def total_tokens(self) -> int:
        """The tokens of all answers of all clients."""
        return self.total_answers * self.tokens

    def moments(self, round_number: int) -> Sequence[float]:
        """Return the seconds after which each client starts: different in each round, the same for all contestants.

        Evenly spaced moments would make the tokens of all paced answers due at the same time.
        """
        source = random.Random(round_number)
        return [source.uniform(0, self.opening_seconds) for _ in range(self.streams)]

    def quick(self) -> Workload:
        """Return a tenth of it, to try the benchmark itself."""
        return replace(self, tokens=-(-self.tokens // 10), answers=1)
