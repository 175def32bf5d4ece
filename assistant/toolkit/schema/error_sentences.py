"""Describes validation errors for models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jsonschema_rs import ValidationError, ValidationErrorKind

# The path of an invalid field, and what is wrong with it.
Problem = tuple[str, str]
# The path of a problem of the whole value.
ROOT = "arguments"
UNKNOWN = "unknown argument"
# Said of the arguments as a whole, where describing each problem would be too costly.
UNDESCRIBED = "do not fit the schema; they are too large, or it has too many alternatives, to say where"
MAX_NAME = 80
# Characters of a constant or of an enumeration's values.
_MAX_VALUE_CHARACTERS = 500
_LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} properties",
    "maxProperties": "at most {} properties",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "greater than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
}


def sentences_of(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    """Yield the path and the problem of each invalid field."""
    for error in errors:
        yield from _problems(error)


def _problems(error: ValidationError) -> Iterator[Problem]:
    kind = error.kind
    path = [str(part)[:MAX_NAME] for part in error.instance_path]
    where = ".".join(path) or ROOT
    match kind:
        case ValidationErrorKind.AnyOf() | ValidationErrorKind.OneOfNotValid():
            # Describe the alternative with the fewest errors.
            closest = min(map(list, kind.context), key=len)
            yield from sentences_of(closest)
        case ValidationErrorKind.Required():
            yield ".".join([*path, kind.property[:MAX_NAME]]), "missing"
        case ValidationErrorKind.AdditionalProperties() | ValidationErrorKind.UnevaluatedProperties():
            for name in kind.unexpected:
                yield ".".join([*path, name[:MAX_NAME]]), UNKNOWN
        case _:
            yield where, _sentence(error, kind)


def _sentence(error: ValidationError, kind: ValidationErrorKind) -> str:
    match kind:
        case ValidationErrorKind.Type():
            return f"must be of type {' or '.join(sorted(kind.types))}"
        case ValidationErrorKind.Enum():
            return f"must be one of {', '.join(map(repr, kind.options))[:_MAX_VALUE_CHARACTERS]}"
        case ValidationErrorKind.Constant():
            return f"must be {repr(kind.expected_value)[:_MAX_VALUE_CHARACTERS]}"
        case ValidationErrorKind.Pattern():
            return f"must match {kind.pattern!r}"
        case ValidationErrorKind.OneOfMultipleValid():
            return "fits several alternatives, and must fit one"
        case ValidationErrorKind.FalseSchema():
            return "must be left out"
    if kind.name in _LIMITS:
        return f"must be {_LIMITS[kind.name].format(kind.value)}"
    return error.message[:200]
