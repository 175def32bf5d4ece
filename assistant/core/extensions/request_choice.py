"""What a caller chooses for the requests of one turn: the tool that is called, and the form of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.conversation.turn_endings import TurnFailed
from assistant.core.extensions.extension import ExtensionRun, ShippedExtension
from assistant.core.llm.protocol import ModelRequest

# How many tools are named where the one that was chosen is not among them.
_TOLD = 20


@dataclass(frozen=True)
class RequestChoice(ShippedExtension[None]):
    """Sends a choice of tools and a form of the answer with the requests; those of a typed answer have precedence.

    A call that is required is required once: a model that had to call a tool in every round could never answer.

    Attributes:
        tool_choice, response_format: as in `ModelRequest`.
    """

    name = "assistant.request_choice"
    guards = True
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None

    async def before_request(self, run: ExtensionRun[None], request: ModelRequest) -> ModelRequest:
        return replace(
            request,
            tool_choice=request.tool_choice or self._choice_now(run, request),
            response_format=request.response_format or self.response_format,
        )

    def _choice_now(self, run: ExtensionRun[None], request: ModelRequest) -> str | None:
        choice = self.tool_choice
        if choice in (None, "auto", "none"):
            return choice
        if any(message.role == "tool" for message in run.new_messages):
            return None
        if choice != "required" and all(tool.name != choice for tool in request.tools):
            choices = ", ".join(["auto", "none", "required", *(tool.name for tool in request.tools[:_TOLD])])
            raise TurnFailed(f"There is no tool named {choice[:64]!r} to choose. Choices: {choices}.", "invalid_input")
        return choice
