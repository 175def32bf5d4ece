"""Reads function signatures: the schema of the parameters, and validation of arguments."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from assistant.toolkit.calls.arguments import Arguments, corrected_arguments, invalid_arguments, problems_of
from assistant.toolkit.calls.call import ToolResult
from assistant.toolkit.calls.left_awaitables import refuse_awaitable_inputs, refuse_awaitables
from assistant.toolkit.context import ToolContext
from assistant.toolkit.definition.context_annotations import deps_of, is_context
from assistant.toolkit.definition.docstrings import parameter_descriptions
from assistant.toolkit.definition.names import unwrapped
from assistant.toolkit.errors import InvalidArguments, InvalidTool
from assistant.toolkit.schema.bounds import InvalidSchema
from assistant.toolkit.schema.check import TooCostly, unknown_names
from assistant.toolkit.schema.decimals import decimals_of, with_all_digits
from assistant.toolkit.schema.error_sentences import ROOT, UNDESCRIBED, Problem
from assistant.toolkit.schema.exact_types import ExactTypes, chosen_sentence, exact_types_of
from assistant.toolkit.schema.json_schema import JsonSchema
from assistant.toolkit.schema.own_functions import has_own_functions
from assistant.toolkit.schema.parameters import (
    arguments_adapter,
    has_open_objects,
    is_object,
    output_schema,
    schema_of,
    type_adapter,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A function's parameters, as a schema and a validator.

    Attributes:
        names: maps the validator's fields to the function's parameters.
        contexts: the parameters that take the context.
        always: fields that are passed to the function even if the model left them out.
        single: the parameter that takes all arguments as one object, if there is one.
        owner: what a method has to be bound to.
        returns: the declared type of the return value; `Any` if none is declared or it cannot be read.
        output: the schema of the return value, if known.
        is_open: whether an object in the arguments accepts unknown keys.
        decimals: the schema with decimals marked, if it has any.
        exact: the declared types, if the validator takes values of others.
        deps: the types of dependencies that the function wants in its context.
        has_functions: whether validating calls functions of the tool's author, which may wait.
    """

    parameters: JsonSchema
    validator: TypeAdapter[Any]
    names: Mapping[str, str]
    contexts: tuple[str, ...]
    always: frozenset[str] = frozenset()
    single: str | None = None
    owner: Literal["instance", "class"] | None = None
    returns: Any = Any
    output: JsonSchema | None = None
    is_open: bool = False
    decimals: JsonSchema | None = None
    exact: ExactTypes | None = None
    deps: tuple[type, ...] = ()
    has_functions: bool = False

    def check(self, arguments: Arguments) -> dict[str, Any]:
        """Return validated keyword arguments.

        Raises:
            InvalidArguments: some do not fit; it lists each invalid field.
            AwaitableLeft: a function of the author's has returned an awaitable.
        """
        try:
            value = self._validated(arguments)
        except UnicodeEncodeError:
            raise InvalidArguments(
                "The arguments contain half of a surrogate pair, which is not valid Unicode."
            ) from None
        if self.single is None:
            given = value.model_fields_set | self.always
            checked = {name: getattr(value, field) for field, name in self.names.items() if field in given}
        else:
            checked = {self.single: value}
        if self.has_functions:
            refuse_awaitables(checked)
        return checked

    def _validated(self, arguments: Arguments) -> Any:
        text, parsed = arguments.text, arguments.parsed
        if self.decimals is not None and (exact := with_all_digits(text, self.decimals)) is not None:
            text, parsed = json.dumps(exact), exact
        # If `is_open`, each type decides about unknown keys, which are then compared with the schema.
        extra: Literal["forbid"] | None = None if self.is_open else "forbid"
        try:
            value = self.validator.validate_json(text or "{}", strict=True, extra=extra)
        except ValidationError as first:
            if self.has_functions:
                refuse_awaitable_inputs(first)
            corrected = corrected_arguments(parsed, self.parameters, self.decimals)
            if corrected is parsed:
                raise self._invalid(first, parsed) from None
            parsed = corrected
            try:
                value = self.validator.validate_json(json.dumps(parsed), strict=True, extra=extra)
            except ValidationError as exc:
                raise self._invalid(exc, parsed) from None
        if self.exact is not None and (problems := self._converted(parsed)):
            raise invalid_arguments(problems, self.parameters)
        if self.is_open and (unknown := unknown_names(parsed, self.parameters)):
            raise invalid_arguments(unknown, self.parameters)
        return value

    def _invalid(self, exc: ValidationError, parsed: dict[str, Any]) -> InvalidArguments:
        if self.has_functions:
            refuse_awaitable_inputs(exc)
        converted = self._converted(parsed)
        forms = dict(converted)
        # What pydantic refuses itself, it says better, unless it has taken digits for a moment, and refuses that.
        found = dict.fromkeys(
            (path, chosen_sentence(said, forms.get(path, ""))) for path, said in problems_of(exc, parsed)
        )
        named = {path for path, _ in found}
        more = [problem for problem in converted if problem[0] not in named]
        return invalid_arguments([*found, *more], self.parameters)

    def _converted(self, parsed: dict[str, Any]) -> list[Problem]:
        """Return the problems of values that the validator would convert to another type."""
        if self.exact is None:
            return []
        try:
            return self.exact.problems(parsed)
        except TooCostly:
            return [(ROOT, UNDESCRIBED)]


def read_signature(
    function: Callable[..., Any],
    localns: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Signature:
    """Read a function's parameters. Raises `InvalidTool` if a model could not call it.

    Args:
        types: of parameters, by name, in place of their annotations.
    """
    label = label_of(function)
    hints = {**_hints(function, localns), **(types or {})}
    descriptions = parameter_descriptions(function)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    always: set[str] = set()
    contexts = []
    deps: list[type] = []
    owner, parameters = _parameters(function)
    for parameter in parameters:
        annotation = hints.get(parameter.name, parameter.annotation)
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise InvalidTool(f"{label}: the parameter {str(parameter)!r} cannot be given by name.")
        if is_context(annotation):
            contexts.append(parameter.name)
            deps += deps_of(annotation)
            continue
        if annotation is parameter.empty:
            raise InvalidTool(f"{label}: the parameter {parameter.name!r} has no type annotation.")
        field = f"p{len(names)}"
        names[field] = parameter.name
        fields[field] = type_and_field = _field(parameter, annotation, descriptions.get(parameter.name))
        if not isinstance(parameter.default, FieldInfo) and parameter.default is not parameter.empty:
            continue
        if not _is_required(type_and_field):
            always.add(field)
    validator = arguments_adapter(label, fields)
    schema = schema_of(label, validator)
    return Signature(
        parameters=schema,
        validator=validator,
        names=names,
        contexts=tuple(contexts),
        deps=tuple(deps),
        always=frozenset(always),
        owner=owner,
        returns=(returned := _returned(function, localns)),
        output=None if returned is ToolResult else output_schema(returned),
        is_open=(is_open := has_open_objects(schema)),
        decimals=decimals_of(validator, schema),
        exact=_exact(label, validator, is_open=is_open),
        has_functions=has_own_functions(validator),
    )


def read_input_type(
    function: Callable[..., Any], input_type: Any, localns: Mapping[str, Any] | None = None
) -> Signature:
    """Read a function that takes one value of `input_type`.

    The fields of an object are the model's parameters; a value of another type, such as a text, is the one parameter.
    A second parameter named `context` that has no annotation takes the context.

    Raises:
        InvalidTool: the function takes no such value, or the type has no JSON Schema.
    """
    label = label_of(function)
    try:
        hints = _hints(function, localns)
    except InvalidTool:
        hints = {}  # not needed: the input type is given, and the context is recognised by its annotation's text
    owner, parameters = _parameters(function)
    if len(parameters) == 2 and (last := parameters[1]).name == "context" and last.annotation is last.empty:
        # Of a lambda, which cannot say it.
        hints = {**hints, last.name: ToolContext}
    contexts = tuple(p.name for p in parameters if is_context(hints.get(p.name, p.annotation)))
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    deps = tuple(one for p in parameters for one in deps_of(hints.get(p.name, p.annotation)))
    candidates = [p for p in parameters if p.name not in contexts]
    required = [p for p in candidates if p.default is p.empty]
    if not candidates or len(required) > 1 or (required or candidates)[0].kind not in by_name:
        wanted = getattr(input_type, "__name__", input_type)
        if len(candidates) == 1 and candidates[0].kind not in by_name:
            name = str(candidates[0])
            raise InvalidTool(f"{label}: its parameter {name!r} cannot be given by name. Wrap it in a lambda.")
        raise InvalidTool(
            f"{label}: exactly one parameter must take the {wanted}, beside one for the context, which is annotated "
            "ToolContext."
        )
    parameter = (required or candidates)[0]
    validator = type_adapter(label, input_type)
    if not is_object(label, validator):
        annotation = hints.get(parameter.name, parameter.annotation)
        of_contexts = {name: hints[name] for name in contexts if name in hints}
        if annotation not in (parameter.empty, input_type):
            raise InvalidTool(f"{label}: its parameter {parameter.name!r} is no {input_type}, as input_type says.")
        return read_signature(function, localns, {parameter.name: input_type, **of_contexts})
    schema = schema_of(label, validator)
    return Signature(
        parameters=schema,
        validator=validator,
        names={},
        contexts=contexts,
        deps=deps,
        single=parameter.name,
        owner=owner,
        returns=(returned := _returned(function, localns)),
        output=None if returned is ToolResult else output_schema(returned),
        is_open=(is_open := has_open_objects(schema)),
        decimals=decimals_of(validator, schema),
        exact=_exact(label, validator, is_open=is_open),
        has_functions=has_own_functions(validator),
    )


def _exact(label: str, validator: TypeAdapter[Any], *, is_open: bool) -> ExactTypes | None:
    try:
        return exact_types_of(validator, is_closed=not is_open)
    except InvalidSchema as exc:
        raise InvalidTool(f"{label}: its arguments cannot be checked: {exc}.") from exc


def label_of(function: Callable[..., Any]) -> str:
    """Return a function's name for error messages."""
    return str(getattr(unwrapped(function), "__qualname__", repr(function)))


def _parameters(
    function: Callable[..., Any],
) -> tuple[Literal["instance", "class"] | None, list[inspect.Parameter]]:
    """Return what a method has to be bound to (None for a function), and the parameters without `self` or `cls`."""
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
    target = unwrapped(function)
    annotations = dict(getattr(target, "__annotations__", {}))
    annotations.pop("return", None)
    try:
        return _resolved(target, annotations, localns)
    except (NameError, SyntaxError, TypeError, AttributeError) as exc:
        raise InvalidTool(f"{label_of(function)}: an annotation cannot be read: {exc}") from exc


def _resolved(target: Any, annotations: Mapping[str, Any], localns: Mapping[str, Any] | None) -> dict[str, Any]:
    module_names = getattr(target, "__globals__", {})
    # Modules often import it under TYPE_CHECKING only.
    local_names = {} if "ToolContext" in module_names else {"ToolContext": ToolContext}
    local_names |= _locals_around(target, module_names) | dict(localns or {})
    annotated: Any = SimpleNamespace(__annotations__=dict(annotations))
    return typing.get_type_hints(annotated, globalns=module_names, localns=local_names, include_extras=True)


def _locals_around(target: Any, module_names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the local names of the functions and classes around `target` whose frames are still on the stack.

    Annotations written as text can use them, and Python stores no reference to them.
    """
    found: dict[str, Any] = {}
    qualname, frame = getattr(target, "__qualname__", ""), sys._getframe()
    while frame is not None and "." in qualname:
        if frame.f_globals is module_names and qualname.startswith(f"{frame.f_code.co_qualname}."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _returned(function: Callable[..., Any], localns: Mapping[str, Any] | None) -> Any:
    """Return the declared type of a function's value; `Any` if there is none that can be read."""
    target = unwrapped(function)
    annotation = getattr(target, "__annotations__", {}).get("return", Any)
    try:
        return _resolved(target, {"return": annotation}, localns)["return"]
    except (NameError, SyntaxError, TypeError, AttributeError):
        return Any


def _field(parameter: inspect.Parameter, annotation: Any, description: str | None) -> tuple[Any, Any]:
    """Return a parameter as pydantic's pair of type and field; the field's alias is the parameter's name."""
    default = parameter.default
    options: dict[str, Any] = {"alias": parameter.name}
    if isinstance(default, FieldInfo):
        annotation = Annotated[annotation, default]
        default = default.default
    elif default is not parameter.empty:
        options["default"] = default
    if default is None and not _allows_none(annotation):
        annotation = _with_none(annotation)
    if description and not any(isinstance(item, FieldInfo) and item.description for item in _metadata(annotation)):
        options["description"] = description
    return annotation, Field(**options)


def _metadata(annotation: Any) -> Iterator[Any]:
    yield from get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _is_required(type_and_field: tuple[Any, Any]) -> bool:
    infos = [type_and_field[1], *(item for item in _metadata(type_and_field[0]) if isinstance(item, FieldInfo))]
    return all(info.is_required() for info in infos)


def _allows_none(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _allows_none(get_args(annotation)[0])
    return annotation in (Any, object, None, type(None)) or type(None) in get_args(annotation)


def _with_none(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return Annotated[(_with_none(inner), *metadata)]
    return Union[annotation, None]  # noqa: UP007 - `|` does not work with forward references
