"""What a call of `ChatClient` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypedDict

from assistant.client.tool_sources import ToolProvider, ToolSource
from assistant.core.client.prompts import PromptTemplate
from assistant.core.toolcalls.protocols import Decision
from assistant.core.turn.plan import ExecuteTools
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Message
from assistant.toolkit import Media, Tool
from assistant.toolkit.context import Deps
from assistant.toolkit.definition.failures import OnError

# A text, a template of one, or messages as `Message`, as mappings, or as objects of the openai package.
Prompt = str | PromptTemplate | Sequence[Message | Mapping[str, Any] | object] | None


class CallSettings(TypedDict, Generic[Deps], total=False):
    """Settings of one call. `context`, `options` and `variables` are merged with the client's; others replace these.

    Attributes:
        history: the conversation so far, such as `reply.messages` of an earlier call.
        conversation: the conversation's key in the client's store.
        execute_tools: whether tools are run; if not, the calls are left to the caller. Or a function of the model's
            reply and the context that says so for each reply with calls.
        decisions: a person's decisions on calls that wait for approval, by call id.
        client_tools: tools that the model may call and that the caller runs.
        tool_choice: "auto", "none", "required", or the name of the tool to call; a call is required once in a turn.
        files: images, PDFs and texts that are sent with the message. Models see images if they were made with
            `sees_images`, and read PDFs with `reads_pdfs`.
        on_error: "raise" ends the turn if a tool fails unexpectedly; "model" reports the failure to the model; a
            function gets the exception and returns a sentence for the model, or raises; a mapping of exception classes
            says one of these for each. What the tool itself says comes first.
    """

    tools: ToolProvider | ToolSource | None
    deps: Deps
    context: Mapping[str, Any] | None
    history: Sequence[Message | Mapping[str, Any] | object]
    conversation: str
    execute_tools: ExecuteTools
    decisions: Mapping[str, Decision]
    client_tools: Sequence[Tool]
    tool_choice: str
    system: str | PromptTemplate
    variables: Mapping[str, Any]
    options: Mapping[str, Any]
    limits: Limits
    files: Sequence[Media]
    on_error: OnError
