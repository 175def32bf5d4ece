"""What a tool or prompt must ask of its caller: as an input-required result, or on the session of an older client."""

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
from pydantic import BaseModel

from assistant.mcp.server.caller import Context

Question = CreateMessageRequest | ElicitRequest | ListRootsRequest
R = TypeVar("R", bound=BaseModel)

# Where a tool finds its caller in `context.extra`.
CALLER = "mcp_caller"
# How often one request may ask its caller, on a session.
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


@dataclass(frozen=True, slots=True)
class InputNeeded:
    """Returned by a tool, or by a source of prompts, that must first ask its caller something.

    It is called again with the answers in `context.extra["mcp_caller"].answers`, by the same keys, and with its
    `state`, which the caller can neither read nor change.
    """

    questions: Mapping[str, Question]
    state: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """What a tool may know of the client: what it can be asked, and what it has answered so far."""

    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""


class Unanswerable(Exception):
    """The caller cannot be asked; the message may be shown to them."""


def can_be_asked(context: Context, method: str) -> bool:
    """Whether the caller's client takes this kind of question, now and on this connection; an elicitation by a form."""
    return _can_be_asked(context, _NEEDED[method])


def _can_be_asked(context: Context, needed: ClientCapabilities) -> bool:
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    if not is_modern and not context.session.can_send_request:
        return False
    return _declares(context, needed)


def _declares(context: Context, needed: ClientCapabilities) -> bool:
    if needed.elicitation is None:
        return context.session.check_client_capability(needed)
    declared = context.session.client_capabilities
    if declared is None or declared.elicitation is None:
        return False
    has_urls = declared.elicitation.url is not None
    # An empty object means forms, by the specification.
    return has_urls if needed.elicitation.url is not None else declared.elicitation.form is not None or not has_urls


def _needed_for(question: Question) -> ClientCapabilities:
    is_url = isinstance(question, ElicitRequest) and isinstance(question.params, ElicitRequestURLParams)
    return _NEEDED_FOR_URLS if is_url else _NEEDED[question.method]


def caller_of(context: Context, answers: Mapping[str, Any] | None, state: str) -> Caller:
    capabilities = frozenset(method.partition("/")[0] for method in _NEEDED if can_be_asked(context, method))
    return Caller(capabilities, answers or {}, state)


async def until_answered(
    context: Context,
    step: Callable[[Caller], Awaitable[R | InputNeeded]],
    *,
    answers: Mapping[str, Any] | None,
    state: str | None,
) -> R | InputRequiredResult:
    """Take a step; if it must ask, ask: in the result (2026-07-28), or at once and go on (older, with a session).

    Raises:
        MCPError: the client has not declared that it takes such questions.
        Unanswerable: the connection cannot carry a question.
    """
    made = await step(caller_of(context, answers, state or ""))
    if not isinstance(made, InputNeeded):
        return made
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        _refuse_unless_declared(context, made)
        return InputRequiredResult(input_requests=dict(made.questions), request_state=made.state or None)
    for _ in range(MAX_ROUNDS):
        given = {name: await _ask(context, question) for name, question in made.questions.items()}
        made = await step(caller_of(context, given, made.state))
        if not isinstance(made, InputNeeded):
            return made
    raise Unanswerable("This call has asked too many questions.")


def _refuse_unless_declared(context: Context, asked: InputNeeded) -> None:
    for question in asked.questions.values():
        needed = _needed_for(question)
        if not _declares(context, needed):
            wanted = {"requiredCapabilities": needed.model_dump(by_alias=True, mode="json", exclude_none=True)}
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY, f"This needs a client that takes {question.method}.", wanted
            )


async def _ask(context: Context, question: Question) -> BaseModel:
    if not _can_be_asked(context, _needed_for(question)):
        raise Unanswerable(f"This needs {question.method}, which this client or connection does not take.")
    related = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(question, _ANSWERS[question.method], metadata=related)
