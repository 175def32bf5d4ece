"""Remembers which models have just failed repeatedly, so that runs with a fallback do not wait for them again.

Kept in the process. A circuit opens after failures in a row; after `COOLDOWN_SECONDS` one run tries the model again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from cachetools import LRUCache

from assistant.core.llm.protocol import Model

MAX_FAILURES = 3
COOLDOWN_SECONDS = 30.0
MAX_CIRCUITS = 2_000


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    open_until: float = 0.0


class Circuits:
    """The circuits of models, by address, key and name; the least recently used are forgotten.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: LRUCache[Hashable, _Circuit] = LRUCache(MAX_CIRCUITS)

    def is_open(self, model: Model) -> bool:
        """Return whether a model should not be asked now. After the cooldown, False once, for a trial."""
        circuit = self._circuits.get(_key(model))
        if circuit is None or circuit.failures < MAX_FAILURES:
            return False
        now = self._clock()
        if now < circuit.open_until:
            return True
        circuit.open_until = now + COOLDOWN_SECONDS  # for all but the run that tries it
        return False

    def failed(self, model: Model) -> None:
        """Record that a model could not answer."""
        circuit = self._circuits.setdefault(_key(model), _Circuit())
        circuit.failures += 1
        circuit.open_until = self._clock() + COOLDOWN_SECONDS

    def answered(self, model: Model) -> None:
        """Record that a model has answered."""
        if self._circuits:
            self._circuits.pop(_key(model), None)


def _key(model: Model) -> Hashable:
    # Two tenants with one address and different keys do not share a circuit: a provider's limits are for each key.
    return getattr(model, "circuit_key", None) or (model.provider, model.name)


CIRCUITS = Circuits()
