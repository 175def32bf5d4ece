"""What optional apps add to the rows of `assistant_seed`: their modules `seed`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol, cast

from django.db.models import Model

from assistant.models import PromptVersion


class Seed(Protocol):
    """A module that makes rows.

    Attributes:
        TIMED: the models whose rows have given times, and not those at which they are stored.
    """

    TIMED: tuple[type[Model], ...]

    def rows_of(self, chance: random.Random, draft: PromptVersion, owner: Any, now: datetime) -> Iterator[Model]:
        """Yield unsaved rows of a tenant, in an order in which they can be stored.

        Args:
            draft: of the first assistant's prompt; it will have been stored before.
        """
        ...


_modules: list[str] = []


def seed_from(module: str) -> None:
    """Have `assistant_seed` store the rows of a module too, a `Seed`, which it imports by this dotted name."""
    _modules.append(module)


def added_seeds() -> list[Seed]:
    """Return the modules that apps have named."""
    return [cast(Seed, import_module(module)) for module in _modules]
