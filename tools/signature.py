"""How a model calls a function: its parameters as a schema, and validated arguments as the function's keywords."""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tools.arguments import Arguments, coerce, problems_of, refusal
from tools.context import ToolContext
from tools.decimals import decimals_of, with_all_digits
from tools.docstrings import parameter_descriptions
from tools.errors import InvalidArguments, InvalidTool
from tools.jsonschema import JsonSchema
from tools.results import ToolResult
from tools.schema import arguments_adapter, has_open_objects, output_schema, schema_of, type_adapter
from tools.schema_check import unknown_names

# Where a word begins within a class's name: `HTTPServer`, `OpenTicket2`.
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What is known of a function.

    `names` maps the validator's fields to the function's parameters, `always` are fields that are passed though the
    model did not give them; `single` names the parameter that takes the whole object, `contexts` those that take the
    context, `owner` says what a method is to be bound to. `is_open`: some nested object keeps unknown keys.
    `decimals`: the schema with its decimals marked, if it has some.
    """

    parameters: JsonSchema
    validator: TypeAdapter[Any]
    names: Mapping[str, str]
    contexts: tuple[str, ...]
    always: frozenset[str] = frozenset()
    single: str | None = None
    owner: Literal["instance", "class"] | None = None
    output: JsonSchema | None = None
    is_open: bool = False
    decimals: JsonSchema | None = None

    def check(self, arguments: Arguments) -> dict[str, Any]:
        """Validated keyword arguments. Raises `InvalidArguments` that names each wrong field."""
        try:
            value = self._validated(arguments)
        except UnicodeEncodeError:
            raise InvalidArguments("The arguments hold half a character, which is not valid Unicode.") from None
        if self.single is not None:
            return {self.single: value}
        given = value.model_fields_set | self.always
        return {name: getattr(value, field) for field, name in self.names.items() if field in given}

    def keywords(self, checked: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's positional and keyword arguments."""
        return (), checked

    def _validated(self, arguments: Arguments) -> Any:
        text, parsed = arguments.text, arguments.parsed
        if self.decimals is not None and (exact := with_all_digits(text, self.decimals)) is not None:
            text, parsed = json.dumps(exact), exact
        try:
            value = self._validate(text)
        except ValidationError as first:
            mended = coerce(parsed, self.parameters, self.parameters)
            if mended is parsed:
                raise refusal(problems_of(first, parsed), self.parameters) from None
            try:
                value = self._validate(json.dumps(mended))
            except ValidationError as exc:
                raise refusal(problems_of(exc, mended), self.parameters) from None
        if self.is_open and (unknown := unknown_names(parsed, self.parameters)):
            raise refusal(unknown, self.parameters)
        return value

    def _validate(self, text: str) -> Any:
        # Where some types keep unknown keys by their own choice, each type is asked, and the schema afterwards.
        return self.validator.validate_json(text or "{}", strict=True, extra=None if self.is_open else "forbid")


def read_signature(function: Callable[..., Any], localns: Mapping[str, Any] | None = None) -> Signature:
    """Read a function's parameters. Raises `InvalidTool` for what no model could call."""
    label = label_of(function)
    hints = _hints(function, localns)
    descriptions = parameter_descriptions(function)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    always: set[str] = set()
    contexts = []
    owner, parameters = _parameters(function)
    for parameter in parameters:
        annotation = hints.get(parameter.name, parameter.annotation)
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise InvalidTool(f"{label}: the parameter {str(parameter)!r} cannot be given by name.")
        if is_context(annotation):
            contexts.append(parameter.name)
            continue
        if annotation is parameter.empty:
            raise InvalidTool(f"{label}: the parameter {parameter.name!r} has no type annotation.")
        field = f"p{len(names)}"
        names[field] = parameter.name
        fields[field] = wanted = _field(parameter, annotation, descriptions.get(parameter.name))
        if not isinstance(parameter.default, FieldInfo) and parameter.default is not parameter.empty:
            continue
        if not _is_required(wanted):
            always.add(field)
    validator = arguments_adapter(label, fields)
    schema = schema_of(label, validator)
    return Signature(
        parameters=schema,
        validator=validator,
        names=names,
        contexts=tuple(contexts),
        always=frozenset(always),
        owner=owner,
        output=_output(function, localns),
        is_open=has_open_objects(schema),
        decimals=decimals_of(validator, schema),
    )


def read_input_type(
    function: Callable[..., Any], input_type: Any, localns: Mapping[str, Any] | None = None
) -> Signature:
    """Read a function that takes one object of `input_type`, whose fields are the model's parameters."""
    label = label_of(function)
    try:
        hints = _hints(function, localns)
    except InvalidTool:
        hints = {}  # the type is given, and which parameter takes the context can be read from the text
    owner, parameters = _parameters(function)
    contexts = tuple(p.name for p in parameters if is_context(hints.get(p.name, p.annotation)))
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    takers = [p for p in parameters if p.name not in contexts]
    needed = [p for p in takers if p.default is p.empty]
    if not takers or len(needed) > 1 or (needed or takers)[0].kind not in by_name:
        raise InvalidTool(
            f"{label}: exactly one parameter must take the {getattr(input_type, '__name__', input_type)}."
        )
    validator = type_adapter(label, input_type)
    schema = schema_of(label, validator)
    return Signature(
        parameters=schema,
        validator=validator,
        names={},
        contexts=contexts,
        single=(needed or takers)[0].name,
        owner=owner,
        output=_output(function, localns),
        is_open=has_open_objects(schema),
        decimals=decimals_of(validator, schema),
    )


def label_of(function: Callable[..., Any]) -> str:
    """A function's name for messages to its author."""
    return str(getattr(plain(function), "__qualname__", repr(function)))


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function; of an object that can be called, or a class, that of the class in snake case."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(inspect.unwrap(function)):
        return str(getattr(plain(function), "__name__", ""))
    owner = function if isinstance(function, type) else type(function)
    return _WORD_BEGINS.sub("_", owner.__name__).lower()


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that stands behind a partial, a decorated function, a method or a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        return cast(Callable[..., Any], function.__init__)  # type: ignore[misc]
    if not inspect.isroutine(inspect.unwrap(function)):
        function = type(function).__call__
    return cast(Callable[..., Any], inspect.unwrap(function))


def is_context(annotation: Any) -> bool:
    """Whether a parameter so annotated takes the tool's context."""
    if isinstance(annotation, type):
        return issubclass(annotation, ToolContext)
    if isinstance(annotation, str):
        return annotation.strip("'\"") in {"ToolContext", "tools.ToolContext"}
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_context(get_args(annotation)[0])
    return origin in {Union, types.UnionType} and any(is_context(part) for part in get_args(annotation))


def _parameters(
    function: Callable[..., Any],
) -> tuple[Literal["instance", "class"] | None, list[inspect.Parameter]]:
    """What a method is to be bound to, and the parameters that are still to be given."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as exc:
        raise InvalidTool(f"{label_of(function)}: its parameters cannot be read.") from exc
    if isinstance(function, functools.partial):
        found = [parameter for parameter in found if parameter.name not in function.keywords]
    if found and found[0].name in {"self", "cls"} and found[0].annotation is inspect.Parameter.empty:
        return ("instance" if found[0].name == "self" else "class"), found[1:]
    return None, found


def _hints(function: Callable[..., Any], localns: Mapping[str, Any] | None) -> dict[str, Any]:
    target = plain(function)
    written = dict(getattr(target, "__annotations__", {}))
    written.pop("return", None)
    try:
        return _resolved(target, written, localns)
    except (NameError, SyntaxError, TypeError, AttributeError) as exc:
        raise InvalidTool(f"{label_of(function)}: an annotation cannot be read: {exc}") from exc


def _resolved(target: Any, written: Mapping[str, Any], localns: Mapping[str, Any] | None) -> dict[str, Any]:
    names = getattr(target, "__globals__", {})
    # Often imported for the type checker alone.
    known = {} if "ToolContext" in names else {"ToolContext": ToolContext}
    known |= _locals_around(target, names) | dict(localns or {})
    shown: Any = SimpleNamespace(__annotations__=dict(written))
    return typing.get_type_hints(shown, globalns=names, localns=known, include_extras=True)


def _locals_around(target: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """The locals of the functions and classes that `target` is defined in, as far as these are still at work.

    Annotations written as text may name them, and Python keeps no way from the one to the other.
    """
    found: dict[str, Any] = {}
    place, frame = getattr(target, "__qualname__", ""), sys._getframe()
    while frame is not None and "." in place:
        if frame.f_globals is names and place.startswith(f"{frame.f_code.co_qualname}."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _output(function: Callable[..., Any], localns: Mapping[str, Any] | None) -> JsonSchema | None:
    target = plain(function)
    written = getattr(target, "__annotations__", {}).get("return")
    try:
        returned = _resolved(target, {"return": written}, localns)["return"]
    except (NameError, SyntaxError, TypeError, AttributeError):
        return None
    return None if returned is ToolResult else output_schema(returned)


def _field(parameter: inspect.Parameter, annotation: Any, description: str | None) -> tuple[Any, Any]:
    """A parameter as pydantic's pair of type and field; the field's alias is the parameter's name."""
    default = parameter.default
    given: dict[str, Any] = {"alias": parameter.name}
    if isinstance(default, FieldInfo):
        annotation = Annotated[annotation, default]
        default = default.default
    elif default is not parameter.empty:
        given["default"] = default
    if default is None and not _allows_none(annotation):
        annotation = _with_none(annotation)
    if description and not any(isinstance(item, FieldInfo) and item.description for item in _metadata(annotation)):
        given["description"] = description
    return annotation, Field(**given)


def _metadata(annotation: Any) -> Iterator[Any]:
    yield from get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _is_required(wanted: tuple[Any, Any]) -> bool:
    infos = [wanted[1], *(item for item in _metadata(wanted[0]) if isinstance(item, FieldInfo))]
    return all(info.is_required() for info in infos)


def _allows_none(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _allows_none(get_args(annotation)[0])
    return annotation in (Any, object, None, type(None)) or type(None) in get_args(annotation)


def _with_none(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return Annotated[(_with_none(inner), *metadata)]
    return Union[annotation, None]  # noqa: UP007 - the annotation may be a string's forward reference
