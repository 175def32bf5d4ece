"""What optional apps add to pages of the core: links from one row, and buttons of the prompt's editor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from assistant.models import PromptVersion

# The page of an assistant, the editor of its prompt, and a run in the trace of its conversation, for those who may
# change the prompts of its tenant; and the page of a provider, for operators. Each is about that row.
Place = Literal["assistant", "prompt", "run", "provider"]
_links: dict[Place, list[Callable[[Any], SafeString | None]]] = defaultdict(list)


@dataclass(frozen=True, slots=True, eq=False)
class DraftButton:
    """A button of the prompt's editor that saves a draft and goes on: its name, and the address that follows.

    Attributes:
        is_shown: whether somebody's request is for a page with it; everybody's who may change the prompt, by default.
    """

    name: str | Promise
    after: Callable[[PromptVersion], str]
    is_shown: Callable[[HttpRequest], bool] = lambda request: True


# By what the buttons send.
draft_buttons: dict[str, DraftButton] = {}


def add_link(place: Place, make: Callable[[Any], SafeString | None]) -> None:
    """Show a link on a page.

    Args:
        make: takes the row that the page is about, and returns the link; None for none.
    """
    _links[place].append(make)


def added_links(place: Place, row: Any) -> list[SafeString]:
    """Return the links that apps add to the page of a row."""
    return [link for link in (make(row) for make in _links[place]) if link is not None]


def shown_buttons(request: HttpRequest) -> dict[str, DraftButton]:
    """Return the buttons that somebody sees in the editor, by what they send."""
    return {verb: button for verb, button in draft_buttons.items() if button.is_shown(request)}


def add_draft_button(verb: str, button: DraftButton) -> None:
    """Show a button in the editor of prompts, where drafts can be tested (`ASSISTANT_PROMPT_TESTS`)."""
    draft_buttons[verb] = button
