"""What runs and the chat page ask about tests of prompts. An optional app makes the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from assistant.services.errors import Refused

if TYPE_CHECKING:
    from django.http import HttpRequest

    from assistant.models import Conversation
    from assistant.services.runs.extensions.run_extension import RunExtension
    from assistant.services.runs.run_input import RunInput
    from assistant.services.tenancy.members import Member

# The option of `forwardedProps` that begins a test.
TESTED_VERSION = "promptVersion"


@dataclass(frozen=True, slots=True)
class TestedRun:
    """A run that tests a prompt.

    Attributes:
        tools: how its tools are answered, of `ToolsInTests`; its conversation keeps that.
        extension: answers them.
        version: the prompt's, by its primary key; None for the published one.
        has_person: whether somebody is there who can be asked, as in a test chat.
    """

    tools: str
    extension: RunExtension[Any]
    version: int | None = None
    has_person: bool = False


class PromptTests:
    """Tests no prompts."""

    def tested(
        self, *, member: Member, conversation: Conversation | None, given: RunInput
    ) -> tuple[RunInput, TestedRun]:
        """Return the input and the test of a run that has the option `TESTED_VERSION`, or is in a test conversation.

        Raises:
            Refused: `test_forbidden` if the member may not test prompts; `invalid_input` if the conversation is not one
                of a test.
        """
        raise Refused("test_forbidden", _("Only those who may write this organisation's prompts may test them."))

    def shown(self, *, member: Member, conversation: Conversation) -> object | None:
        """Return what the chat page shows of a test conversation; None for nothing."""
        return None

    def begun(self, *, member: Member, request: HttpRequest) -> tuple[str, Mapping[str, Any]] | None:
        """Return the slug of the assistant that the chat page tests, and what it shows of that; None for no test.

        Raises `Http404` if the member may not test what the request names.
        """
        return None


_tests = ""


def test_with(tests: str) -> None:
    """Have prompts tested by an optional app.

    Args:
        tests: the dotted name of a subclass of `PromptTests`, which is imported when it is first asked.
    """
    global _tests  # noqa: PLW0603 - of the whole process
    _tests = tests


@cache
def prompt_tests() -> PromptTests:
    """Return what tests prompts."""
    found: PromptTests = import_string(_tests)() if _tests else PromptTests()
    return found
