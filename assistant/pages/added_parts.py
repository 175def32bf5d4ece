"""What optional apps add to pages of people: to the sign-in page, the account's pages and the beginning of a chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.http import HttpRequest

Place = Literal["sign-in", "account", "own-things", "welcome"]
Context = Callable[[HttpRequest], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Part:
    """A template, and a function that returns its variables; None to leave it out."""

    template: str
    context: Context


_parts: dict[Place, list[Part]] = {"sign-in": [], "account": [], "own-things": [], "welcome": []}


def add_part(place: Place, template: str, *, context: Context) -> None:
    """Show a template on a page.

    Args:
        context: returns the variables that the template needs besides the page's own; None to leave it out.
    """
    _parts[place].append(Part(template, context))


def parts_of(place: Place, request: HttpRequest) -> dict[str, Any]:
    """Return the variables of a page's parts, and as `parts` their templates."""
    variables: dict[str, Any] = {}
    templates = []
    for part in _parts[place]:
        found = part.context(request)
        if found is not None:
            variables |= found
            templates.append(part.template)
    return {**variables, "parts": templates}
