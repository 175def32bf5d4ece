"""Describes, for the page of a test chat, the version that is tested."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.models import PromptVersion
from assistant.models.conversations import ToolsInTests

# The keys in the session under which the control panel passes a question to a test chat, and the version that it was
# taken along for last: what is typed there afterwards may be made of it.
QUESTION_TO_TRY = "question_to_try"
TAKEN_FOR = "question_taken_for"


@dataclass(frozen=True, slots=True)
class ShownTest:
    """A version that a member tests, loaded with its assistant, and how tools are answered, of `ToolsInTests`."""

    version: PromptVersion
    tools: str

    @property
    def asks(self) -> bool:
        """Whether the tester is asked before a tool changes something."""
        return self.tools == ToolsInTests.ASK
