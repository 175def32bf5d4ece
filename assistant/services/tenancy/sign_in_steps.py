"""Whether a sign-in is complete: an optional app may ask for more than a password."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.module_loading import import_string


@dataclass(frozen=True, slots=True)
class SignInStep:
    """What an app asks of people who sign in.

    Attributes:
        is_on: whether it asks anybody in this deployment. It then has the page for signing in.
        lack_of: returns why the session of a signed-in user does not count yet, in a sentence; empty if it does.
        answer: the dotted name of a function that returns where a person whose session does not count has to go first;
            None if it counts.
        page: the name of the URL of its page for signing in.
    """

    is_on: Callable[[], bool]
    lack_of: Callable[[Any, SessionBase], str]
    answer: str
    page: str


_steps: list[SignInStep] = []


def ask_for(step: SignInStep) -> None:
    """Let no session count that lacks what an app asks for: on pages, websockets and in all APIs."""
    _steps.append(step)


def lack_of(user: Any, session: SessionBase) -> str:
    """Return why a signed-in user's session does not count yet; empty if it does."""
    return next(filter(None, (step.lack_of(user, session) for step in _steps)), "")


def answer_to_lack(request: HttpRequest) -> HttpResponse | None:
    """Return where a signed-in user has to go first; None if nothing is lacking."""
    answers = (import_string(step.answer)(request) for step in _steps if step.is_on())
    return next((answer for answer in answers if answer is not None), None)


def page_of_app() -> str:
    """Return the address of the page for signing in that takes the place of the core's; empty if there is none."""
    return next((reverse(step.page) for step in _steps if step.is_on()), "")
