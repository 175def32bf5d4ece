"""Reads calls of tools that models have written into a text, in the notations of their templates.

A server that knows the model's template turns them into calls; others leave them in the text. Each notation begins
with a mark. A text that begins with a mark and does not go on as a call does is a text about the notation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from assistant.toolkit.bounded_json import check_depth, load_json

# The schema of the arguments of each offered tool, by its name.
Schemas = Mapping[str, Mapping[str, Any]]
NO_SCHEMAS: Schemas = MappingProxyType({})
# Calls in one text, and arguments of one call; a model that repeats itself writes more.
MAX_CALLS = 50
MAX_ARGUMENTS = 100
_JSON = r"\{\s*[\"}]|\[\s*\{"
_NAME = r"[\w.:/-]{1,128}"
# Marks, and how a call goes on after each.
NOTATIONS = {
    "<tool_call>": rf"{_JSON}|<function=|{_NAME}\s*(?:<arg_key>|</tool_call>)",  # Hermes, Qwen, GLM
    "<tool_calls>": _JSON,
    "<|tool_call|>": _JSON,  # Granite, Phi
    "<function=": rf"{_NAME}>",  # Llama 3.1, Qwen Coder
    "<function_calls>": r"<invoke ",
    "<minimax:tool_call>": r"<invoke ",
    "<｜DSML｜function_calls>": r"<｜DSML｜invoke ",  # DeepSeek 3.2
    "<｜tool▁calls▁begin｜>": r"<｜tool▁call▁begin｜>",  # DeepSeek
    "<｜tool▁call▁begin｜>": r"\S",
    "<|tool_calls_section_begin|>": r"<\|tool_call_begin\|>",  # Kimi
    "<|python_tag|>": rf"{_JSON}|{_NAME}\.call\(",  # Llama
    "<|channel|>commentary": r"to=",  # gpt-oss
    "[TOOL_CALLS]": rf"{_JSON}|{_NAME}\s*(?:\[(?:ARGS|CALL_ID)\]|\{{)",  # Mistral
}
_GOES_ON = {mark: re.compile(pattern) for mark, pattern in NOTATIONS.items()}
# Characters after a mark after which it is certain whether a call follows.
CERTAIN = 200
_ENDS = re.compile(
    r"(?:</tool_call>|</tool_calls>|<\|/tool_call\|>|</function>|</function_calls>|</minimax:tool_call>"
    r"|</｜DSML｜function_calls>|<｜tool▁calls?▁end｜>|<\|tool_calls?(?:_section)?_end\|>|<\|call\|>|<\|eom_id\|>|<\|eot_id\|>"
    r"|<\|im_end\|>|</s>|<｜end▁of▁sentence｜>|;|\s)*+"
)
_XML_NAMES = (
    re.compile(rf"<function=({_NAME})>(.*?)(?:</function>|\Z)", re.DOTALL),
    re.compile(rf"<(?:｜DSML｜)?invoke name=\"({_NAME})\">(.*?)(?:</(?:｜DSML｜)?invoke>|\Z)", re.DOTALL),
)
_XML_ARGUMENTS = re.compile(
    r"<parameter=([^>\s]{1,128})>(.*?)</parameter>"
    r"|<(?:｜DSML｜)?parameter name=\"([^\"]{1,128})\"[^>]{0,40}>(.*?)</(?:｜DSML｜)?parameter>"
    r"|<arg_key>(.*?)</arg_key>\s*+<arg_value>(.*?)</arg_value>",
    re.DOTALL,
)
_BEFORE_JSON = (
    re.compile(rf"<｜tool▁call▁begin｜>(?:function)?<｜tool▁sep｜>({_NAME})\s*+```json\s*+"),
    re.compile(rf"<｜tool▁call▁begin｜>({_NAME})<｜tool▁sep｜>\s*+"),
    re.compile(rf"<\|tool_call_begin\|>\s*+(?:functions\.)?({_NAME}?)(?::\d+)?\s*+<\|tool_call_argument_begin\|>\s*+"),
    re.compile(rf"<\|channel\|>commentary to=(?:functions\.)?({_NAME})[^{{]{{0,80}}<\|message\|>\s*+"),
    re.compile(rf"(?:\[TOOL_CALLS\])?\s*+({_NAME})\s*+(?:\[CALL_ID\]\s*+\w{{1,64}}\s*+)?(?:\[ARGS\])?\s*+(?=\{{)"),
)
_CODE_END = re.compile(r"\s*+```")
_GLM = re.compile(rf"<tool_call>\s*+({_NAME})\s*+(?=<arg_key>|</tool_call>|\Z)")
_OPENINGS = re.compile(
    r"\s*+(?:<tool_calls?>|<\|tool_call\|>|<function_calls>|<minimax:tool_call>|<｜DSML｜function_calls>"
    r"|<｜tool▁calls▁begin｜>|<\|tool_calls_section_begin\|>|<\|python_tag\|>|\[TOOL_CALLS\](?=\s*+[\[{]))?\s*+"
)
_DECODER = json.JSONDecoder(strict=False)


class WrittenCall(NamedTuple):
    """A call as a model has written it: the tool's name and its arguments, a JSON object as text."""

    name: str
    arguments: str


class NotACall(ValueError):
    """The text begins as a call does, and is none that can be run."""


def begins_call(text: str) -> bool | None:
    """Return whether a text begins with a call; None while more of it can tell."""
    for mark, goes_on in _GOES_ON.items():
        if text.startswith(mark):
            rest = text[len(mark) : len(mark) + CERTAIN].lstrip()
            if goes_on.match(rest):
                return True
            return False if len(text) - len(mark) >= CERTAIN else None
    return None if any(mark.startswith(text) for mark in NOTATIONS) else False


def read_calls(text: str, schemas: Schemas) -> tuple[list[WrittenCall], str]:
    """Return the calls at the beginning of a text, and what follows them.

    Args:
        schemas: of the tools that were offered.

    Raises:
        NotACall: one of them has arguments that cannot be read, or names no offered tool.
    """
    calls: list[WrittenCall] = []
    rest = text
    while len(calls) < MAX_CALLS:
        found = next((one for read in _READERS if (one := read(rest, schemas)) is not None), None)
        if found is None:
            break
        more, at = found
        calls += more
        rest = rest[at:]
        rest = rest[_ENDS.match(rest).end() :]  # type: ignore[union-attr]
    if not calls:
        raise NotACall("it cannot be read")
    for call in calls:
        if call.name not in schemas:
            raise NotACall("it names no offered tool")
    return calls, rest


_Found = tuple[list[WrittenCall], int] | None


def _xml(text: str, schemas: Schemas) -> _Found:
    start = _OPENINGS.match(text).end()  # type: ignore[union-attr]
    for pattern in _XML_NAMES:
        if (found := pattern.match(text, start)) is not None:
            body = found[2].strip()
            arguments = body if body.startswith("{") else _arguments(body, schemas.get(found[1], {}))
            return [WrittenCall(found[1], _checked(arguments))], found.end()
    return None


def _glm(text: str, schemas: Schemas) -> _Found:
    found = _GLM.match(text)
    if found is None:
        return None
    end = text.find("</tool_call>", found.end())
    end = len(text) if end < 0 else end
    return [WrittenCall(found[1], _arguments(text[found.end() : end], schemas.get(found[1], {})))], end


def _named(text: str, schemas: Schemas) -> _Found:
    """Read a name and then its arguments as JSON."""
    starts = {0, _OPENINGS.match(text).end()}  # type: ignore[union-attr]
    for pattern in _BEFORE_JSON:
        for start in starts:
            if (found := pattern.match(text, start)) is not None:
                value, end = _value(text, found.end())
                closing = _CODE_END.match(text, end)
                return [WrittenCall(found[1], _checked(value))], closing.end() if closing else end
    return None


def _json(text: str, schemas: Schemas) -> _Found:
    """Read an object with the name and the arguments of a call, or a list of them."""
    start = _OPENINGS.match(text).end()  # type: ignore[union-attr]
    if text[start : start + 1] not in ("{", "["):
        return None
    value, end = _value(text, start)
    calls = value if isinstance(value, list) else [value]
    return [_call(one) for one in calls[:MAX_CALLS]], end


_READERS: tuple[Callable[[str, Schemas], _Found], ...] = (_xml, _glm, _named, _json)


def _value(text: str, start: int) -> tuple[Any, int]:
    try:
        check_depth(text[start:])
        return _DECODER.raw_decode(text, start)
    except ValueError:
        raise NotACall("its arguments are no JSON") from None


def _call(value: Any) -> WrittenCall:
    function = value.get("function") if isinstance(value, dict) else None
    found = function if isinstance(function, dict) else value
    if not isinstance(found, dict) or not isinstance(name := found.get("name"), str):
        raise NotACall("it cannot be read")
    return WrittenCall(name, _checked(found.get("arguments", found.get("parameters", {}))))


def _checked(arguments: Any) -> str:
    """Return arguments as JSON text. Raises `NotACall` if they are no object."""
    try:
        value = load_json(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
    except ValueError:
        raise NotACall("its arguments are no JSON") from None
    if not isinstance(value, dict):
        raise NotACall("its arguments are no object")
    return arguments if isinstance(arguments, str) and arguments.strip() else json.dumps(value, ensure_ascii=False)


def _arguments(body: str, schema: Mapping[str, Any]) -> str:
    """Return arguments that are written between tags: text where the schema wants text, else JSON."""
    if body.count("<") > 5 * MAX_ARGUMENTS:
        raise NotACall("it has too many arguments")
    if not _ENDS.fullmatch(_XML_ARGUMENTS.sub("", body)):
        raise NotACall("its arguments cannot be read")
    properties = schema.get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    found: dict[str, Any] = {}
    for match in _XML_ARGUMENTS.finditer(body):
        name, value = (part for part in match.groups() if part is not None)
        wanted = known.get(name.strip())
        kind = wanted.get("type") if isinstance(wanted, Mapping) else None
        found[name.strip()] = value.strip("\n") if kind == "string" else _literal(value.strip())
    return json.dumps(found, ensure_ascii=False)


def _literal(text: str) -> Any:
    try:
        return load_json(text)
    except ValueError:
        return text
