"""Reads the product's own options in AG-UI's `forwardedProps`. Others are left to the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assistant.core.llm.typed_output import check_schema
from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.services.errors import Refused
from assistant.services.runs.input import added_options
from assistant.services.runs.input.ids import parse_forwarded_id
from assistant.toolkit.text import clean_text

MAX_MODEL_LENGTH = 200
MAX_ALLOWED = 1_000
Choice = TypeVar("Choice", WhenBusy, OnDisconnect)


@dataclass(frozen=True, slots=True)
class ForwardedProps:
    """What the caller of one run wants of it.

    Attributes:
        output_schema: the JSON Schema of the answer.
        allowed_tools: the names of the only tools to use; None for all.
        follows: the id of the run that it follows, "" for none; None to follow what is shown.
        replaces: the id of the user's message in whose place the new one comes.
        model: which of the assistant's other models answers; "" for its own.
        when_busy, on_disconnect: None to do as the assistant's setting says.
        added: the values of options that optional apps read, by their names.
    """

    output_schema: dict[str, Any] | None = None
    allowed_tools: frozenset[str] | None = None
    follows: str | None = None
    replaces: str | None = None
    model: str = ""
    when_busy: WhenBusy | None = None
    on_disconnect: OnDisconnect | None = None
    added: Mapping[str, Any] = field(default_factory=dict)


NO_OPTIONS = ForwardedProps()


def parse_forwarded_props(forwarded: object) -> ForwardedProps:
    """Parse `forwardedProps`. Raises `Refused` with a message that names the option."""
    if not isinstance(forwarded, Mapping):
        raise Refused("invalid_input", "forwardedProps must be an object.")
    return ForwardedProps(
        output_schema=_output_schema(forwarded.get("outputSchema")),
        allowed_tools=_allowed_tools(forwarded.get("allowedTools")),
        follows=parse_forwarded_id(forwarded.get("followsRunId"), "followsRunId"),
        replaces=parse_forwarded_id(forwarded.get("replacesMessageId"), "replacesMessageId"),
        model=_model(forwarded.get("model")),
        when_busy=_choice(forwarded.get("whenBusy"), "whenBusy", WhenBusy),
        on_disconnect=_choice(forwarded.get("onDisconnect"), "onDisconnect", OnDisconnect),
        added={} if added_options.added.keys().isdisjoint(forwarded) else added_options.parse_added(forwarded),
    )


def _choice(value: object, name: str, choices: type[Choice]) -> Choice | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in choices.values:
        raise Refused("invalid_input", f"forwardedProps.{name} must be {', '.join(choices.values)}.")
    return choices(value)


def _model(name: object) -> str:
    """Return the name of the wanted model; opening the run checks that the assistant lists it."""
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= MAX_MODEL_LENGTH):
        raise Refused("invalid_input", f"forwardedProps.model must be a name of at most {MAX_MODEL_LENGTH} characters.")
    return clean_text(name or "")


def _output_schema(schema: object) -> dict[str, Any] | None:
    """Return the JSON Schema that the answer has to fit, if the caller gives one."""
    if schema is None:
        return None
    try:
        return check_schema(schema)
    except ValueError as exc:
        raise Refused("invalid_input", f"forwardedProps.outputSchema: {exc}.") from exc


def _allowed_tools(names: object) -> frozenset[str] | None:
    if names is None:
        return None
    if not isinstance(names, list) or len(names) > MAX_ALLOWED or not all(isinstance(name, str) for name in names):
        raise Refused("invalid_input", f"forwardedProps.allowedTools must be a list of at most {MAX_ALLOWED} names.")
    return frozenset(names)
