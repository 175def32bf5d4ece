"""Questions that an external server asks during a call: converted to our form, and answered by people."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from assistant.mcp_client.definitions import visible
from assistant.toolkit import InvalidArguments, Question, ToolResult
from assistant.toolkit.schema.form import label_of
from assistant.toolkit.schema.json_schema import JsonSchema
from assistant.toolkit.translation import gettext

# Answers that people give during one call.
MAX_ROUNDS = 5
# Questions that a server may ask in one request of a call, those that are answered from `answers` included.
MAX_QUESTIONS = 20
MAX_FIELDS = 12
MAX_OPTIONS = 100
MAX_SCHEMA = 32_000
MAX_TEXT, MAX_LABEL, MAX_HELP, MAX_ANSWER = 1_000, 120, 300, 4_000
# The answer to an approval has these names; AG-UI's clients know an approval by them.
_TAKEN = frozenset({"approved", "editedArgs", "reason", "response"})
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,39}", re.ASCII)
_DATE = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_AGREED = "go_on"

NO_PAGES = "The server wanted the user to open a web page. That is not possible here, and it was declined."
NOBODY = "The server asked the user a question. Nobody can be asked here, and it was declined."
TOO_MANY = "The server asked the user too many questions. The rest were declined."
NO_ANSWER = "The server asked the user a question, and got no answer."
UNFIT = "The server asked the user a question. The answer did not fit, and it was declined."
UNREADABLE = "The server asked the user a question that cannot be shown as a form. It was declined."


class _Unreadable(Exception):
    """The server's schema is not a form: not flat, too large, or of unknown types."""


@dataclass(frozen=True, slots=True)
class _Field:
    """One property of the server's schema.

    Attributes:
        name: the server's name; ours may differ.
        schema: ours. It repeats no pattern and no format of the server's, which checks the answer itself.
        values: what the server receives for each option that is shown.
    """

    name: str
    schema: JsonSchema
    values: Mapping[str, Any]
    is_required: bool

    def given(self, answer: Any) -> Any:
        """Return an answer as the server receives it."""
        if isinstance(answer, list):
            return [self.values[one] for one in answer]
        return self.values[answer] if self.values else answer


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server receives: MCP's `ElicitResult`."""

    action: Literal["accept", "decline"]
    content: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(slots=True)
class CallQuestions:
    """What a server may ask in one call.

    Args:
        server: its name, for people.
        answers: people's answers so far, by the keys of their questions; None if nobody can be asked.
        address: where the server is. An answer is given to no other one that asks the same.
        person: asked at once, during the call; returns the answer, or None. Without it `open` is to be answered before
            the call is repeated.

    Attributes:
        open: the first question that has no answer yet.
        notes: sentences for the model about questions that were declined.
    """

    server: str
    answers: Mapping[str, Mapping[str, Any]] | None
    address: str = ""
    person: Callable[[Question], Awaitable[Mapping[str, Any] | None]] | None = field(default=None, repr=False)
    open: Question | None = None
    notes: list[str] = field(default_factory=list)
    _asked: Counter[str] = field(default_factory=Counter)

    def answer(self, message: str, schema: Mapping[str, Any] | None) -> Answer | None:
        """Return the answer to a question of the server; None if a person has to be asked first.

        Args:
            schema: of the form; None if the server wants a page to be opened instead.
        """
        if schema is None:
            return self._decline(NO_PAGES)
        if self.answers is None:
            return self._decline(NOBODY)
        try:
            asked = _digest(self.address, message, schema)
            fields = _fields_of(schema)
        except (_Unreadable, RecursionError):
            return self._decline(UNREADABLE)
        # The same question for the second time is another one: the first answer may have been wrong.
        self._asked[asked] += 1
        key = f"{asked}-{self._asked[asked]}"
        if key in self.answers:
            return _result(fields, self.answers[key])
        if len(self.answers) >= MAX_ROUNDS or self._asked.total() > MAX_QUESTIONS:
            return self._decline(TOO_MANY)
        self.open = self.open or Question(_text(self.server, message), _schema(fields), key)
        return None

    async def ask(self, message: str, schema: Mapping[str, Any] | None) -> Answer | None:
        """Return the same as `answer`, after asking the `person` who is there during the call, if there is one."""
        answer = self.answer(message, schema)
        if answer is not None or self.person is None or self.open is None or schema is None:
            return answer
        question, self.open = self.open, None
        given = await self.person(question)
        if given is None:
            return self._decline(NO_ANSWER)
        try:
            values = question.check(json.dumps(dict(given)))
        except (InvalidArguments, TypeError, ValueError):
            return self._decline(UNFIT)
        self.answers = {**(self.answers or {}), question.key: values}
        return _result(_fields_of(schema), values)

    def told(self, result: ToolResult) -> ToolResult:
        """Return the result of the call with what the model reads about declined questions."""
        if not self.notes:
            return result
        return replace(result, content="\n".join([*self.notes, result.content]))

    def _decline(self, note: str) -> Answer:
        if note not in self.notes:
            self.notes.append(note)
        return Answer("decline")


def _digest(address: str, message: str, schema: Mapping[str, Any]) -> str:
    content = json.dumps([message, schema], sort_keys=True)
    if len(content) > MAX_SCHEMA:
        raise _Unreadable
    return hashlib.sha256(f"{address}\n{content}".encode()).hexdigest()[:32]


def _text(server: str, message: str) -> str:
    """Return the question as people read it: who asks, and the server's text as one quoted line that it cannot end."""
    said = " ".join(visible(message[: MAX_TEXT * 2]).translate({ord("“"): '"', ord("”"): '"'}).split())
    values = {"server": server, "question": said[:MAX_TEXT]}
    return gettext("The external server “%(server)s” asks this, and receives your answer: “%(question)s”") % values


def _fields_of(schema: Mapping[str, Any]) -> dict[str, _Field]:
    """Return the fields by our names. Raises `_Unreadable`."""
    wanted = schema.get("properties", {})
    required = schema.get("required", ())
    if not isinstance(wanted, dict) or not isinstance(required, list | tuple) or len(wanted) > MAX_FIELDS:
        raise _Unreadable
    fields: dict[str, _Field] = {}
    for number, (name, one) in enumerate(wanted.items(), start=1):
        if not isinstance(one, dict) or len(name) > MAX_LABEL:
            raise _Unreadable
        is_ours = _NAME.fullmatch(name) and name not in _TAKEN
        fields[name if is_ours else f"field_{number}"] = _field(name, one, is_required=name in required)
    if len(fields) < len(wanted):
        raise _Unreadable
    return fields


def _field(name: str, wanted: Mapping[str, Any], *, is_required: bool) -> _Field:
    kind = wanted.get("type")
    values: Mapping[str, Any] = {}
    schema: JsonSchema
    if kind == "array":
        items = wanted.get("items")
        values = _options(items if isinstance(items, dict) else {}, "anyOf")
        schema = {"type": "array", "items": {"enum": list(values)}, "uniqueItems": True}
        schema |= {"minItems": 1} if is_required else {}
    elif kind == "string" and not {"enum", "oneOf"}.isdisjoint(wanted):
        values = _options(wanted, "oneOf")
        schema = {"enum": list(values)}
    elif kind == "string":
        schema = {"type": "string", "maxLength": _longest(wanted.get("maxLength"))}
        if wanted.get("format") == "date":
            schema |= {"format": "date", "pattern": _DATE}
        elif is_required:
            schema |= {"minLength": 1}
    elif kind in ("integer", "number"):
        schema = {"type": kind, **{key: wanted[key] for key in ("minimum", "maximum") if _is_number(wanted.get(key))}}
    elif kind == "boolean":
        schema = {"type": "boolean"}
    else:
        raise _Unreadable
    about = _line(wanted.get("description"), MAX_HELP)
    schema |= {"title": _line(wanted.get("title"), MAX_LABEL) or label_of(visible(name)) or name}
    return _Field(name, {**schema, "description": about} if about else schema, values, is_required)


def _options(wanted: Mapping[str, Any], titled: str) -> dict[str, Any]:
    """Return what the server receives, by what is shown. Raises `_Unreadable`."""
    if isinstance(wanted.get(titled), list):
        pairs = [
            (one.get("title", one.get("const")), one.get("const")) for one in wanted[titled] if isinstance(one, dict)
        ]
    else:
        values, names = wanted.get("enum"), wanted.get("enumNames")
        if not isinstance(values, list):
            raise _Unreadable
        has_names = isinstance(names, list) and len(names) == len(values)
        pairs = list(zip(cast("list[Any]", names) if has_names else values, values, strict=True))
    shown = {_line(title, MAX_LABEL): value for title, value in pairs if isinstance(value, str)}
    if not 0 < len(pairs) <= MAX_OPTIONS or len(shown) < len(pairs) or "" in shown:
        raise _Unreadable  # options that nobody could tell apart
    return shown


def _line(text: object, longest: int) -> str:
    return " ".join(visible(text).split())[:longest] if isinstance(text, str) else ""


def _longest(value: object) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return min(int(cast(int, value)), MAX_ANSWER) if is_count else MAX_ANSWER


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53


def _schema(fields: Mapping[str, _Field]) -> JsonSchema:
    """Return the schema of our form; a question without fields is one of consent."""
    if not fields:
        agreed: JsonSchema = {_AGREED: {"type": "boolean", "title": gettext("Go on?")}}
        return {"type": "object", "properties": agreed, "required": [_AGREED], "additionalProperties": False}
    return {
        "type": "object",
        "properties": {name: one.schema for name, one in fields.items()},
        "required": [name for name, one in fields.items() if one.is_required],
        "additionalProperties": False,
    }


def _result(fields: Mapping[str, _Field], answer: Mapping[str, Any]) -> Answer:
    if not fields:
        return Answer("accept", {}) if answer.get(_AGREED) else Answer("decline")
    given = {one.name: one.given(answer[name]) for name, one in fields.items() if answer.get(name) is not None}
    return Answer("accept", given)
