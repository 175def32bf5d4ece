"""Definitions of tools as an external server lists them: sanitised, compared by digest, shown as a diff."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from assistant.toolkit.definition.handwritten import closed
from assistant.toolkit.schema.check import schema_error

if TYPE_CHECKING:
    from mcp_types import Tool as ListedTool

MAX_TOOLS = 200
MAX_NAME = 128
MAX_DESCRIPTION = 4_000
MAX_SCHEMA = 32_000
# How many unusable tools are shown to an operator with their reasons.
MAX_REASONS = 10
_EMPTY = {"type": "object", "properties": {}}
# Characters that people do not see but models read: controls, directions, fillers, tags, variation selectors.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """Return the text without characters that only a model would see."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode()))


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """The parts of a server's tool description that models and operators rely on.

    Any change of them results in another `digest`. `is_destructive` and `is_open_world` are part of it only if the
    server sets them, so that definitions that were accepted before these hints were read stay accepted.
    """

    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: dict(_EMPTY))
    output_schema: Mapping[str, Any] | None = None
    is_read_only: bool = False
    is_idempotent: bool = False
    is_destructive: bool | None = None
    is_open_world: bool | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256(_canonical(self.to_state()).encode()).hexdigest()

    def to_state(self) -> dict[str, Any]:
        """Return the definition as JSON values, for the database."""
        state = asdict(self)
        unset = [name for name in ("is_destructive", "is_open_world") if state[name] is None]
        return {name: value for name, value in state.items() if name not in unset}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ToolDefinition:
        """Return the definition that `to_state` returned."""
        return cls(**state)


@dataclass(frozen=True, slots=True)
class Listing:
    """A server's listing: the usable tools, and by name the reason why each other tool cannot be used.

    `unread` says why the rest of the listing could not be read; empty if all of it was.
    """

    tools: tuple[ToolDefinition, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    unread: str = ""

    @property
    def sentence(self) -> str:
        """The unusable tools with their reasons; empty if there are none."""
        shown = [f"{name} ({reason})" for name, reason in list(self.left_out.items())[:MAX_REASONS]]
        more = len(self.left_out) - len(shown)
        return "; ".join([*shown, f"and {more} more"] if more else shown)


# Called with every listing of a server. Raises `RemoteFailure` (`gone`) if the server is no longer configured.
OnTools = Callable[[Listing], Awaitable[None]]


def read_listing(listed: Iterable[ListedTool], malformed: Mapping[str, str] | None = None, unread: str = "") -> Listing:
    """Return the usable tools of a listing, at most `MAX_TOOLS`; of two with the same name the first.

    Args:
        malformed: the tools that are no tools of the protocol, by name with the reason.
        unread: as in `Listing`.
    """
    found: dict[str, ToolDefinition] = {}
    left_out = dict(malformed or {})
    for tool in listed:
        if len(found) >= MAX_TOOLS or len(left_out) >= MAX_TOOLS:
            break
        try:
            definition = _read(tool)
        except ValueError as exc:
            left_out[visible(tool.name)[:MAX_NAME]] = str(exc)[:300]
        else:
            found.setdefault(definition.name, definition)
    return Listing(tuple(found.values()), left_out, unread)


def _read(tool: ListedTool) -> ToolDefinition:
    """Return one tool's definition. Raises `ValueError` if it could never be called, or is too long."""
    if not 0 < len(tool.name) <= MAX_NAME or visible(tool.name) != tool.name:
        raise ValueError(f"its name must have 1 to {MAX_NAME} visible characters")
    _check_schemas(tool)
    hints = tool.annotations
    return ToolDefinition(
        name=tool.name,
        title=visible(tool.title or (hints.title if hints and hints.title else ""))[:200],
        description=visible(tool.description or "")[:MAX_DESCRIPTION],
        input_schema=visible_within(tool.input_schema),
        output_schema=visible_within(tool.output_schema) if tool.output_schema is not None else None,
        is_read_only=bool(hints and hints.read_only_hint),
        is_idempotent=bool(hints and hints.idempotent_hint),
        is_destructive=hints.destructive_hint if hints else None,
        is_open_world=hints.open_world_hint if hints else None,
    )


def _check_schemas(tool: ListedTool) -> None:
    """Raise `ValueError` for schemas that are invalid or too large, which would otherwise fail in a run."""
    for label, schema in (("inputSchema", tool.input_schema), ("outputSchema", tool.output_schema)):
        try:
            if len(_canonical(schema)) > MAX_SCHEMA:
                raise ValueError(f"it has more than {MAX_SCHEMA} characters")
            mistake = schema_error(closed(schema) if label == "inputSchema" else schema) if schema is not None else ""
        except (RecursionError, ValueError) as exc:
            raise ValueError(f"{label}: {exc or 'it is nested too deeply'}") from None
        if mistake or (label == "inputSchema" and tool.input_schema.get("type", "object") != "object"):
            raise ValueError(f"{label}: {mistake or 'it is not the schema of an object'}")


def visible_within(value: Any) -> Any:
    """Apply `visible` to every string in a JSON value, since models also read the descriptions in schemas."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): visible_within(item) for key, item in value.items()}
    if isinstance(value, list):
        return [visible_within(item) for item in value]
    return value


def difference(accepted: ToolDefinition, current: ToolDefinition) -> str:
    """Return a unified diff of both definitions as indented JSON; empty if they are equal."""
    before, now = (
        json.dumps(one.to_state(), indent=2, sort_keys=True, ensure_ascii=False).splitlines()
        for one in (accepted, current)
    )
    return "\n".join(difflib.unified_diff(before, now, "accepted", "offered now", lineterm="", n=2))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
