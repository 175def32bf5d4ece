"""What a call of `ChatClient` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypedDict, get_args

from assistant.client.option_types import check_types
from assistant.client.prompts import PromptTemplate
from assistant.client.tool_sources import ToolProvider, ToolSource
from assistant.core.llm.typed_output import Mode
from assistant.core.toolcalls.call_settings import ExecuteTools
from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Message
from assistant.toolkit import Media, Tool
from assistant.toolkit.calls.gate import positional_mistake
from assistant.toolkit.context import Deps
from assistant.toolkit.definition.failures import OnError, mistake_in
from assistant.toolkit.unknown_options import unknown_options

# A text, a template of one, or messages as `Message`, as mappings, or as objects of the openai package.
Prompt = str | PromptTemplate | Sequence[Message | Mapping[str, Any] | object] | None


class CallSettings(TypedDict, Generic[Deps], total=False):
    """Settings of one call. `context`, `options` and `variables` are merged with the client's; others replace these.

    Attributes:
        tools: in place of the client's.
        more_tools: beside the client's, or the call's.
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
    more_tools: ToolProvider | ToolSource | None
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


# What has no wrong value that `check_settings` would find; a call with no other setting is not checked.
UNCHECKED = frozenset({"conversation", "deps", "history", "more_tools", "tool_choice", "tools"})


def check_settings(settings: Mapping[str, Any], mode: str | None) -> None:
    """Raise `TypeError` for settings of a call that are unknown or of another type, with what there is to choose."""
    if mistake := unknown_options("A call has no settings", settings, CallSettings.__annotations__):
        raise TypeError(f"{mistake} Typed answers also have output_type and output_mode.")
    if "on_error" in settings and (mistake := mistake_in(settings["on_error"])):
        raise TypeError(f"on_error {mistake}.")
    executes = settings.get("execute_tools", True)
    if not (isinstance(executes, bool) or callable(executes)):
        raise TypeError(
            f"execute_tools must be True, False, or a function of the reply and the context, not {executes!r}."
        )
    if callable(executes) and (mistake := positional_mistake(executes, 2)):
        raise TypeError(f"execute_tools {mistake}: it gets the reply and the context.")
    check_types(**settings)
    if mode is not None and mode not in get_args(Mode):
        raise TypeError(f"output_mode must be one of {', '.join(get_args(Mode))}, not {mode!r}.")
