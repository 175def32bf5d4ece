"""How a run becomes a recorded question with what is expected of its answer: an optional app keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest

from assistant.models import Run


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """What is expected of the answers to a question: a right one in a person's words, and a text that it contains."""

    reference: str
    text: str


# Takes a run that the user may read and whose prompts they may write; returns the address of the case. Raises
# `ValidationError` with why it cannot be kept.
KeepCase = Callable[[HttpRequest, Run, ExpectedAnswer], str]
_keepers: list[KeepCase] = []


def keep_cases_with(keep: KeepCase) -> None:
    """Keep runs as recorded questions by a function; there is one such app."""
    _keepers[:] = [keep]


def case_keeper() -> KeepCase | None:
    """Return what keeps runs as recorded questions; None where no app does."""
    return _keepers[0] if _keepers else None
