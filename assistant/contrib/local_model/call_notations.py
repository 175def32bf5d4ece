"""Reads calls of tools that models have written into a text, in the notations of their templates.

A server that knows the model's template turns them into calls; others leave them in the text. Most notations begin
with a mark. A text that begins with a mark and does not go on as a call does is a text about the notation. The others
(`{"name": ...}` and `[name(a=1)]`) are known by the name of an offered tool.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from assistant.toolkit.bounded_json import check_depth, load_json

# The schema of the arguments of each offered tool, by its name.
Schemas = Mapping[str, Mapping[str, Any]]
# Calls in one text, and arguments of one call; a model that repeats itself writes more.
MAX_CALLS = 50
MAX_ARGUMENTS = 100
# Of brackets within brackets in a call that is written as Python.
MAX_LEVELS = 50
_JSON = r"\{\s*[\"'}]|\[\s*\{"
_NAME = r"[\w.:/-]{1,128}"
_PYTHON = rf"\[\s*{_NAME}\("
_RECIPIENT = r"(?:commentary|analysis)\s+to="
# Marks, and how a call goes on after each.
NOTATIONS = {
    "<tool_call>": rf"{_JSON}|<function=|{_NAME}\s*(?:<arg_key>|</tool_call>)",  # Hermes, Qwen, GLM
    "<tool_calls>": _JSON,
    "<|tool_call|>": _JSON,  # Granite, Phi
    "<function=": rf"{_NAME}>",  # Llama 3.1, Qwen Coder
    "<function_calls>": rf"<invoke |{_NAME}\(",  # Claude's, OLMo
    "<seed:tool_call>": r"<function=",
    "<TOOLCALL>": _JSON,  # Nemotron
    "<minimax:tool_call>": r"<invoke ",
    "<｜DSML｜function_calls>": r"<｜DSML｜invoke ",  # DeepSeek 3.2
    "<｜tool▁calls▁begin｜>": r"<｜tool▁call▁begin｜>",  # DeepSeek
    "<｜tool▁call▁begin｜>": r"\S",
    "<|tool_calls_section_begin|>": r"<\|tool_call_begin\|>",  # Kimi
    "<|python_tag|>": rf"{_JSON}|{_NAME}\.call\(",  # Llama
    "<|python_start|>": _PYTHON,  # Llama 4
    "<|tool_call_start|>": _PYTHON,  # LFM
    "<|START_ACTION|>": _JSON,  # Command
    "<|action_start|><|plugin|>": _JSON,  # InternLM
    "functools": r"\[\s*\{",  # Phi 4
    "```tool_code": rf"\[?\s*{_NAME}\(|\w{{1,128}}\s*=|(?:import|from) \w",  # Gemma
    # Notations whose calls are not read.
    "<start_function_call>": r"call:",  # FunctionGemma
    "<|tool_call>": r"call:",  # Gemma 4
    "<|tools_prefix|>": r"\[\s*\{",  # Apertus
    "<｜tool_calls_begin｜>": r"<｜tool_call_begin｜>",  # Step
    "<|channel|>": _RECIPIENT,  # gpt-oss
    "<|start|>assistant": rf"to=|<\|channel\|>\s*{_RECIPIENT}",
    "<|end|><|start|>assistant": rf"to=|<\|channel\|>\s*{_RECIPIENT}",
    "[TOOL_CALLS]": rf"{_JSON}|{_NAME}\s*(?:\[(?:ARGS|CALL_ID)\]|\{{)",  # Mistral
}
_GOES_ON = {mark: re.compile(pattern) for mark, pattern in NOTATIONS.items()}
# Marks that are no tokens of their own: texts have them within sentences.
_OF_LINES = ("<tool_call>", "<tool_calls>", "<function=", "<function_calls>", "<TOOLCALL>", "functools", "```tool_code")
# Characters after a mark after which it is certain whether a call follows.
CERTAIN = 200
# Characters that tell whether a text begins with a call.
LOOKED_AT = max(map(len, NOTATIONS)) + CERTAIN
_MARKS = tuple(NOTATIONS)
# What a mark, or a call without one, can begin with.
BEGINNINGS = re.compile(r"[<\[{`]")
# A call as JSON without a mark, without white space, up to the name and after it.
_BARE_CALL = (
    '{"name":"',
    '{"type":"function","name":"',
    '{"type":"function","function":{"name":"',
    '{"function":{"name":"',
)
_BARE = (*_BARE_CALL, *(f'{{"tool_calls":[{opening}' for opening in _BARE_CALL))
_AFTER_NAME = ('","arguments":', '","parameters":')
# The same, and a call as Python, with what may follow the name.
_BARE_PARTS = (("[", ("(",)), *((one, _AFTER_NAME) for opening in _BARE for one in (opening, f"[{opening}")))
_BARE_NAMED = re.compile(
    rf'\[({_NAME})\(|\[?(?:\{{"tool_calls":\[)?\{{(?:"type":"function",)?(?:"function":\{{)?'
    rf'"name":"({_NAME})","(?:arguments|parameters)":'
)
_BLANKS = re.compile(r"\s+")
_ENDS = re.compile(
    r"(?:</tool_call>|</tool_calls>|<\|/tool_call\|>|</function>|</function_calls>|</minimax:tool_call>"
    r"|</seed:tool_call>|</TOOLCALL>|<\|python_end\|>|<\|END_ACTION\|>|<\|action_end\|>"
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
    re.compile(
        r"(?:<\|end\|>)?(?:<\|start\|>assistant\s*+)?(?:<\|channel\|>\w+\s*+)?"
        rf"to=(?:functions\.)?({_NAME})[^{{]{{0,80}}<\|message\|>\s*+"
    ),
    re.compile(rf"(?:\[TOOL_CALLS\])?\s*+({_NAME})\s*+(?:\[CALL_ID\]\s*+\w{{1,64}}\s*+)?(?:\[ARGS\])?\s*+(?=\{{)"),
)
_CODE_END = re.compile(r"\s*+```")
# Gemma's block of code, what begins a call in it, and its end. What the model makes up as the result is left out, and
# so is what it says about that.
_FENCE = re.compile(r"```tool_code\s*+")
_STATEMENT = re.compile(rf"{_NAME}(?=\()|(?=\[)")
_BETWEEN = re.compile(r"[\s;]*+")
_FENCE_END = re.compile(r"\s*+(?:```(?:\s*+```tool_outputs?\b.*+)?|\Z)", re.DOTALL)
# The module in which Gemma and Gemini suppose the tools.
_MODULE = "default_api."
_GLM = re.compile(rf"<tool_call>\s*+({_NAME})\s*+(?=<arg_key>|</tool_call>|\Z)")
_OPENINGS = re.compile(
    r"\s*+(?:<tool_calls?>|<\|tool_call\|>|<function_calls>|<minimax:tool_call>|<｜DSML｜function_calls>|<TOOLCALL>"
    r"|<seed:tool_call>|<\|(?:python|tool_call)_start\|>|<\|START_ACTION\|>|<\|action_start\|><\|plugin\|>|functools(?=\s*+\[)"
    r"|<｜tool▁calls▁begin｜>|<\|tool_calls_section_begin\|>|<\|python_tag\|>|\[TOOL_CALLS\](?=\s*+[\[{]))?\s*+"
)
_DECODER = json.JSONDecoder(strict=False)


class WrittenCall(NamedTuple):
    """A call as a model has written it: the tool's name and its arguments, a JSON object as text."""

    name: str
    arguments: str


class NotACall(ValueError):
    """The text begins as a call does, and is none that can be run."""


class Beginning(NamedTuple):
    """How a text begins.

    Attributes:
        is_call: whether with a call; None while more of it can tell.
        is_marked: whether with a mark, so that it is meant as a call.
    """

    is_call: bool | None
    is_marked: bool = True


_NO_CALL = Beginning(False)


def beginning_of(text: str, names: Collection[str], *, begins_line: bool) -> Beginning:
    """Return whether a text begins with a call.

    Args:
        text: of which the first `LOOKED_AT` characters count.
        names: of the tools that were offered.
        begins_line: whether the text begins a line; within a line only marks are looked for that nobody writes.
    """
    is_certain = len(text) >= LOOKED_AT and not text.startswith(_MARKS)
    for mark, goes_on in () if is_certain else _GOES_ON.items():
        if not begins_line and mark in _OF_LINES:
            continue
        if text.startswith(mark):
            rest = text[len(mark) : len(mark) + CERTAIN].lstrip()
            if goes_on.match(rest):
                return Beginning(True)
            return _NO_CALL if len(text) - len(mark) >= CERTAIN else Beginning(None)
        if mark.startswith(text):
            return Beginning(None)
    return _bare_beginning(text, names) if begins_line and text[:1] in ("{", "[") else _NO_CALL


def _bare_beginning(text: str, names: Collection[str]) -> Beginning:
    compact = _BLANKS.sub("", text[:CERTAIN])
    found = _BARE_NAMED.match(compact)
    if found is not None and (found[1] or found[2]) in names:
        return Beginning(True, is_marked=False)
    is_open = len(text) < CERTAIN and _can_become_bare(compact, names)
    return Beginning(None, is_marked=False) if is_open else _NO_CALL


def _can_become_bare(compact: str, names: Collection[str]) -> bool:
    for opening, after_name in _BARE_PARTS:
        if opening.startswith(compact):
            return True
        if compact.startswith(opening):
            rest = compact[len(opening) :]
            if any(f"{name}{after}".startswith(rest) for name in names for after in after_name):
                return True
    return False


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


def _pythonic(text: str, schemas: Schemas) -> _Found:
    """Read calls as Python has them: `[get_weather(city="Rome", days=2)]`, or one in each line without a list."""
    start = _OPENINGS.match(text).end()  # type: ignore[union-attr]
    if re.match(_PYTHON, text[start : start + CERTAIN]):
        end = start + _end_of_list(text[start:])
        tree = _parsed(text[start:end])
        if isinstance(tree, ast.List):
            return [_python_call(one) for one in tree.elts[:MAX_CALLS]], end
        raise NotACall("it cannot be read")
    if start and (found := re.compile(rf"{_NAME}(?=\()").match(text, start)):
        end = found.end() + _end_of_list(text[found.end() :])
        return [_python_call(_parsed(text[start:end]))], end
    return None


def _fenced(text: str, schemas: Schemas) -> _Found:
    """Read the calls in a block of Python, each for itself or within `print`; other code is not run."""
    found = _FENCE.match(text)
    if found is None:
        return None
    calls: list[WrittenCall] = []
    at = found.end()
    while len(calls) < MAX_CALLS and (begins := _STATEMENT.match(text, at)) is not None:
        end = begins.end() + _end_of_list(text[begins.end() :])
        calls += _printed_calls(_parsed(text[at:end]), schemas)
        at = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
    closing = _FENCE_END.match(text, at)
    if closing is None:
        raise NotACall("it is other code than calls")
    return calls, closing.end()


def _printed_calls(node: ast.expr, schemas: Schemas) -> list[WrittenCall]:
    match node:
        case ast.Call(func=ast.Name(id="print"), args=parts, keywords=[]) | ast.List(elts=parts):
            return [call for part in parts for call in _printed_calls(part, schemas)]
    call = _python_call(node)
    name = call.name if call.name in schemas else call.name.removeprefix(_MODULE)
    return [call._replace(name=name)]


def _parsed(code: str) -> ast.expr:
    try:
        return ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise NotACall("it cannot be read") from None


def _end_of_list(text: str) -> int:
    """Return the position after the list that a text begins with; brackets within its texts do not count."""
    level = 0
    quote = ""
    at = 0
    while at < len(text):
        character = text[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[({":
            level += 1
            if level > MAX_LEVELS:
                break
        elif character in "])}":
            level -= 1
            if level == 0:
                return at + 1
        at += 1
    raise NotACall("it cannot be read")


def _python_call(node: ast.expr) -> WrittenCall:
    if not isinstance(node, ast.Call) or node.args or any(one.arg is None for one in node.keywords):
        raise NotACall("it cannot be read")
    arguments = {str(one.arg): _python_value(one.value) for one in node.keywords}
    return WrittenCall(ast.unparse(node.func), json.dumps(arguments, ensure_ascii=False))


def _python_value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id="true" | "false" | "null" as name):
            return {"true": True, "false": False, "null": None}[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_python_value(item) for item in items]
        case ast.Dict(keys=keys, values=values) if all(
            isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys
        ):
            names = [key.value for key in keys if isinstance(key, ast.Constant)]
            return dict(zip(names, map(_python_value, values), strict=True))
    raise NotACall("its arguments cannot be read")


def _json(text: str, schemas: Schemas) -> _Found:
    """Read an object with the name and the arguments of a call, or a list of them."""
    start = _OPENINGS.match(text).end()  # type: ignore[union-attr]
    if text[start : start + 1] not in ("{", "["):
        return None
    value, end = _value(text, start)
    listed = value.get("tool_calls") if isinstance(value, dict) else None
    calls = listed if isinstance(listed, list) else value if isinstance(value, list) else [value]
    return [_call(one) for one in calls[:MAX_CALLS]], end


_READERS: tuple[Callable[[str, Schemas], _Found], ...] = (_xml, _glm, _named, _fenced, _pythonic, _json)


def _value(text: str, start: int) -> tuple[Any, int]:
    if re.match(r"[\[{\s]{0,20}'", text[start : start + 21]):  # Python's quotes
        end = start + _end_of_list(text[start:])
        return _python_value(_parsed(text[start:end])), end
    try:
        check_depth(text[start:])
        return _DECODER.raw_decode(text, start)
    except ValueError:
        raise NotACall("its arguments are no JSON") from None


def _call(value: Any) -> WrittenCall:
    function = value.get("function") if isinstance(value, dict) else None
    found = function if isinstance(function, dict) else value
    name = found.get("name", found.get("tool_name")) if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(name, str):
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
