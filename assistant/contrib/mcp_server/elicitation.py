"""Asks clients for input that a tool or prompt needs.

Since protocol 2026-07-28 the questions are returned as the result, and the client repeats the request with its answers.
Older clients are asked on the response's stream: on a session by the SDK, else by `older_clients`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    FormElicitationCapability,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    RootsCapability,
    SamplingCapability,
    UrlElicitationCapability,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from assistant.contrib.mcp_server.caller import Context
from assistant.contrib.mcp_server.older_clients import OlderClient, TooManyQuestions, older_client
from assistant.toolkit import ToolError, current_context, register_converter
from assistant.toolkit.unknown_options import lists_options

Question = CreateMessageRequest | ElicitRequest | ListRootsRequest
R = TypeVar("R", bound=BaseModel)

# The key of the `McpCaller` in `context.extra`.
CALLER = "mcp_caller"
# How many rounds of questions one request may ask on a session.
MAX_ROUNDS = 8

_NEEDED: Mapping[str, ClientCapabilities] = {
    "sampling/createMessage": ClientCapabilities(sampling=SamplingCapability()),
    "elicitation/create": ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability())),
    "roots/list": ClientCapabilities(roots=RootsCapability()),
}
_NEEDED_FOR_URLS = ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability()))
_ANSWERS: Mapping[str, type[BaseModel]] = {
    "sampling/createMessage": CreateMessageResult,
    "elicitation/create": ElicitResult,
    "roots/list": ListRootsResult,
}


@lists_options
@dataclass(frozen=True, slots=True)
class InputNeeded:
    """Returned by a tool, or by a source of prompts, that needs input from the client.

    The tool or source is called again with an `McpCaller`. It has the answers, by the keys of `questions`, and `state`,
    which the client can neither read nor change. Tools find it at `context.extra["mcp_caller"]`, over MCP alone:
    elsewhere nobody asks these questions, and the call fails with a sentence that the model reads.
    """

    questions: Mapping[str, Question]
    state: str = ""


@lists_options
@dataclass(frozen=True, slots=True)
class McpCaller:
    """What a tool knows about the client: which questions it accepts, and its answers so far."""

    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""


def _in_result(needed: InputNeeded) -> list[str]:
    """Return what stands for questions in a result that the MCP server reads. Raises `ToolError` where nobody does."""
    try:
        extra = current_context().extra
    except LookupError:
        extra = {}
    if CALLER not in extra:
        raise ToolError("This tool needs input that only a client of the MCP server can be asked for.")
    return list(needed.questions)


register_converter(lambda value: isinstance(value, InputNeeded), _in_result)


class CannotAsk(Exception):
    """The client cannot be asked for input; the message is safe to show."""


def accepts(context: Context, method: str) -> bool:
    """Return whether the client accepts requests of this method on this connection; elicitations: as a form."""
    return _accepts(context, _NEEDED[method])


def _accepts(context: Context, needed: ClientCapabilities) -> bool:
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    if not is_modern and not context.session.can_send_request and _older(context) is None:
        return False
    return _declares(context, needed)


def _older(context: Context) -> OlderClient | None:
    return None if context.request is None else older_client(context.request.scope)


def _declares(context: Context, needed: ClientCapabilities) -> bool:
    older = _older(context)
    declared = context.session.client_capabilities if older is None else older.capabilities
    if declared is None:
        return False
    if needed.elicitation is None:
        return (declared.sampling if needed.sampling is not None else declared.roots) is not None
    if declared.elicitation is None:
        return False
    has_urls = declared.elicitation.url is not None
    # By the specification an empty object means forms.
    return has_urls if needed.elicitation.url is not None else declared.elicitation.form is not None or not has_urls


def _capabilities_for(question: Question) -> ClientCapabilities:
    is_url = isinstance(question, ElicitRequest) and isinstance(question.params, ElicitRequestURLParams)
    return _NEEDED_FOR_URLS if is_url else _NEEDED[question.method]


def mcp_caller(context: Context, answers: Mapping[str, Any] | None, state: str) -> McpCaller:
    capabilities = frozenset(method.partition("/")[0] for method in _NEEDED if accepts(context, method))
    return McpCaller(capabilities, answers or {}, state)


async def run_with_input(
    context: Context,
    step: Callable[[McpCaller], Awaitable[R | InputNeeded]],
    *,
    answers: Mapping[str, Any] | None,
    state: str | None,
) -> R | InputRequiredResult:
    """Run a step, and return its result or the questions that the client has to answer first.

    Clients older than 2026-07-28 are asked on their session, and the step is run again with the answers.

    Raises:
        MCPError: the client has not declared that it accepts such questions.
        CannotAsk: it cannot be asked on this connection, or was asked too often.
    """
    made = await step(mcp_caller(context, answers, state or ""))
    if not isinstance(made, InputNeeded):
        return made
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        _refuse_unless_declared(context, made)
        return InputRequiredResult(input_requests=dict(made.questions), request_state=made.state or None)
    for _ in range(MAX_ROUNDS):
        given = {name: await _ask(context, question) for name, question in made.questions.items()}
        made = await step(mcp_caller(context, given, made.state))
        if not isinstance(made, InputNeeded):
            return made
    raise CannotAsk("This call has asked too many questions.")


def _refuse_unless_declared(context: Context, asked: InputNeeded) -> None:
    for question in asked.questions.values():
        needed = _capabilities_for(question)
        if not _declares(context, needed):
            wanted = {"requiredCapabilities": needed.model_dump(by_alias=True, mode="json", exclude_none=True)}
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY, f"This needs a client that accepts {question.method}.", wanted
            )


async def _ask(context: Context, question: Question) -> BaseModel:
    if not _accepts(context, _capabilities_for(question)):
        raise CannotAsk(f"This needs {question.method}, which this client or connection does not accept.")
    if (older := _older(context)) is not None:
        return await _ask_older(older, question)
    related = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(question, _ANSWERS[question.method], metadata=related)


async def _ask_older(client: OlderClient, question: Question) -> BaseModel:
    data = question.model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        answer = await client.ask(data["method"], data.get("params", {}))
        return _ANSWERS[question.method].model_validate(answer["result"], by_name=False)
    except TooManyQuestions:
        raise CannotAsk("Too many questions wait for an answer already. Answer some first.") from None
    except TimeoutError:
        raise CannotAsk("The client did not answer the question in time.") from None
    except (KeyError, ValidationError):
        raise CannotAsk("The client's answer to the question was an error or cannot be read.") from None
