"""Arguments for a tool's calls: its own rows' keys and texts, another tenant's, absent ones, and nonsense."""

from __future__ import annotations

import copy
import json
import random
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Literal

from django.db.models.fields.files import FieldFile

from assistant.contrib.data.services.prove.seeding import SHARED, Seeded

Kind = Literal["own", "foreign", "absent", "other"]
Path = tuple[str, ...]
ABSENT_NUMBER = 999_983
ABSENT_TEXT = "absent-zqx"
ABSENT_KEY = "00000000-0000-4000-8000-00000000abcd"
MAX_VALUES = 10
# Of another tenant's texts: an argument may look into a column that it is not named after.
MAX_FOREIGN = 30
MAX_NAMED = 8
_MAX_DEPTH = 4
# What an argument is called that names a row, or looks for some.
_REFERS = re.compile(
    r"(^|_)(ids?|pk|key|uuid|number|no|name|slug|code|email|ref|reference|search|query|q|term|words?|path|file|url)$",
    re.IGNORECASE,
)
# Arguments that bound or page: whose number it is says nothing.
_BOUNDS = re.compile(
    r"^(at_least|at_most|from|to|empty|is_not|min|max|minimum|maximum|gte?|lte?|before|after|limit|page|size|offset)$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“'`]([\w*-]{1,20})[\"”'`]")
_FILES = re.compile(r"path|file|url|document|attachment", re.IGNORECASE)
_KEY_WORDS = re.compile(r"(_?(id|pk|key|uuid|number|no|name|slug|code|email)s?)+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of one call.

    Attributes:
        path: the argument that was chosen on purpose; empty if none was.
        kind: what its value is.
        variant: which of its own rows the other arguments are of.
        names_rows: whether the argument names rows, or looks for them: absent and foreign values can be compared.
    """

    arguments: dict[str, Any]
    path: Path = ()
    kind: Kind = "own"
    names_rows: bool = False
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """Values by whose rows they are from, each with its model's name."""

    keys: dict[str, list[tuple[str, Any]]]
    texts: dict[str, list[tuple[str, Any]]]
    numbers: dict[str, list[tuple[str, Any]]]
    files: frozenset[str] = frozenset()


def pool_of(seeded: Seeded) -> Pool:
    """Return the values that calls may name."""
    keys: dict[str, list[tuple[str, Any]]] = {}
    texts: dict[str, list[tuple[str, Any]]] = {}
    numbers: dict[str, list[tuple[str, Any]]] = {}
    files: set[str] = set()
    for owner, by_model in seeded.rows.items():
        for model, rows in by_model.items():
            name = model.__name__.lower()
            for row in rows:
                keys.setdefault(owner, []).append((name, row.pk))
                for field in row._meta.concrete_fields:
                    value = getattr(row, field.attname)
                    if field.is_relation or field.primary_key:
                        continue
                    if isinstance(value, FieldFile):
                        value = value.name or ""
                        files.add(value)
                    if isinstance(value, str) and 2 < len(value) < 100 and "zq" in value:
                        texts.setdefault(owner, []).append((f"{name} {field.name}", value))
                    elif isinstance(value, int) and not isinstance(value, bool) and value > 50:
                        numbers.setdefault(owner, []).append((f"{name} {field.name}", value))
    return Pool(keys, texts, numbers, frozenset(files))


def _variants(pairs: Iterable[tuple[Kind, Any] | None], place: int) -> Iterator[tuple[Kind, Any, int]]:
    """Yield values with the number of the own rows that the other arguments are of: two for those that are compared."""
    for pair in pairs:
        if pair is not None:
            kind, value = pair
            is_twice = kind in ("foreign", "absent") and place < MAX_VALUES
            yield from ((kind, value, number) for number in range(2 if is_twice else 1))


class Cases:
    """The cases of one tool, from its parameters."""

    def __init__(self, parameters: dict[str, Any], pool: Pool, seed: str) -> None:
        self._schema = parameters
        self._definitions = parameters.get("$defs", {})
        self._pool = pool
        self._source = random.Random(seed)  # noqa: S311 - the same calls again  # nosec B311

    def own(self) -> Iterator[Case]:
        """Yield calls that a person of the first tenant may make, with what is required alone."""
        for number in range(4):
            yield Case(self._object(self._schema, number, 0))

    def chosen(self) -> Iterator[Case]:
        """Yield calls in each of which one argument has a value on purpose, all others their own rows'.

        Arguments take turns, so that whoever takes the first ones has some of each.
        """
        by_path = [list(self._of_path(path, schema)) for path, schema in self._leaves(self._schema, (), 0)]
        seen = set()
        for case in chain.from_iterable(zip_longest(*by_path)):
            if case is None:
                continue
            arguments = json.dumps(case.arguments, sort_keys=True, default=str)
            # Those of absent and foreign values are compared argument by argument.
            if case.kind in ("foreign", "absent") or arguments not in seen:
                yield case
            seen.add(arguments)

    def _of_path(self, path: Path, schema: dict[str, Any]) -> Iterator[Case]:
        names_rows = self._names_rows(path)
        kinds: tuple[Kind, ...] = ("foreign", "absent", "own", "other")
        by_kind = [[(kind, value) for value in self._values(path[-1], schema, kind)] for kind in kinds]
        for place, pairs in enumerate(zip_longest(*by_kind)):
            for kind, value, number in _variants(pairs, place):
                arguments = self._object(self._schema, number, 0)
                yield Case(self._with(arguments, path, value), path, kind, names_rows, number)

    def generated(self, count: int) -> Iterator[Case]:
        """Yield calls with any mixture."""
        leaves = list(self._leaves(self._schema, (), 0))
        for _ in range(count if leaves else 0):
            arguments = self._object(self._schema, self._source.randrange(4), 0)
            for path, schema in self._source.sample(leaves, min(len(leaves), self._source.randint(1, 3))):
                kind: Kind = self._source.choice(("own", "foreign", "foreign", "other"))
                if values := list(self._values(path[-1], schema, kind)):
                    arguments = self._with(arguments, path, self._source.choice(values))
            yield Case(arguments, (), "other")

    def _names_rows(self, path: Path) -> bool:
        """Whether an argument names rows: by its own name, or as a condition of a column."""
        if _BOUNDS.search(path[-1]):
            return False
        models = {label for values in self._pool.keys.values() for label, _ in values}
        return any(_REFERS.search(name) or name.lower() in models for name in path)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        for _ in range(_MAX_DEPTH):
            if "$ref" in schema:
                schema = self._definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
            elif options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
                rest = [one for one in options if one.get("type") != "null"]
                schema = rest[0] if rest else {}
            else:
                break
        return schema

    def _leaves(self, schema: dict[str, Any], path: Path, depth: int) -> Iterator[tuple[Path, dict[str, Any]]]:
        for name, stored in schema.get("properties", {}).items():
            one = self._resolved(stored)
            if one.get("type") == "object" and one.get("properties") and depth < _MAX_DEPTH:
                yield from self._leaves(one, (*path, name), depth + 1)
            else:
                yield (*path, name), one

    def _object(self, schema: dict[str, Any], number: int, depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        return {
            name: self._default(name, self._resolved(properties[name]), number, depth)
            for name in schema.get("required", ())
            if name in properties
        }

    def _default(self, name: str, schema: dict[str, Any], number: int, depth: int) -> Any:
        if schema.get("type") == "object":
            return self._object(schema, number, depth + 1) if depth < _MAX_DEPTH else {}
        if schema.get("type") == "array":
            values = list(self._values(name, self._resolved(schema.get("items", {})), "own"))
            return [values[number % len(values)]] if values else []
        values = list(self._values(name, schema, "own"))
        return values[number % len(values)] if values else None

    def _with(self, arguments: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
        made = copy.deepcopy(arguments)
        at = made
        schema = self._schema
        for name in path[:-1]:
            schema = self._resolved(schema.get("properties", {}).get(name, {}))
            at = at.setdefault(name, self._object(schema, 0, 0))
        at[path[-1]] = value
        return made

    def _values(self, name: str, schema: dict[str, Any], kind: Kind) -> Iterator[Any]:
        if "enum" in schema or "const" in schema:
            yield from schema.get("enum", [schema.get("const")]) if kind in ("own", "other") else ()
            return
        match schema.get("type"):
            case "array":
                items = self._resolved(schema.get("items", {}))
                yield from self._lists(list(self._values(name, items, kind)), name, items, kind)
            case "boolean":
                yield from (True, False) if kind in ("own", "other") else ()
            case "integer" | "number":
                yield from self._numbers(name, schema, kind)
            case "string":
                yield from self._texts(name, schema, kind)
            case "object":
                yield from ({},) if kind == "own" else ()

    def _lists(self, values: list[Any], name: str, items: dict[str, Any], kind: Kind) -> Iterator[list[Any]]:
        """Yield lists of one value, and lists of an own one and another tenant's."""
        own = next(self._values(name, items, "own"), None) if kind == "foreign" else None
        for value in values:
            yield [value]
            if own is not None:
                yield [own, value]

    def _numbers(self, name: str, schema: dict[str, Any], kind: Kind) -> Iterator[Any]:
        least = schema.get("minimum", schema.get("exclusiveMinimum", float("-inf")))
        most = schema.get("maximum", schema.get("exclusiveMaximum", float("inf")))
        if kind == "absent":
            values: list[Any] = [ABSENT_NUMBER]
        elif kind == "other":
            values = [0, 1, -1, schema.get("minimum", -5), schema.get("maximum", 2**31 - 1), 100_000]
        else:
            owner = "a" if kind == "own" else "b"
            keys = [value for value in self._named(name, self._pool.keys, owner) if isinstance(value, int)]
            values = [*keys, *self._named(name, self._pool.numbers, owner)][:MAX_VALUES]
            values += [3] if kind == "own" and not values else []
        yield from (value for value in dict.fromkeys(values) if least <= value <= most)

    def _texts(self, name: str, schema: dict[str, Any], kind: Kind) -> Iterator[str]:
        form = schema.get("format", "")
        about = f"{name} {schema.get('description', '')}".lower()
        is_date = form.startswith("date") or re.search(
            r"\b(date|day|since|until|from|to|month)\b", about.replace("_", " ")
        )
        if is_date:
            dates = ["2020-01-01", "2035-12-31"] if form != "date-time" else ["2020-01-01T00:00:00Z"]
            yield from dates if kind in ("own", "other") else ()
            return
        most = schema.get("maxLength", 10_000)
        if kind == "absent":
            values = [ABSENT_KEY, ABSENT_TEXT]
        elif kind == "other":
            # What a description quotes may be an option: "mine" or "all".
            quoted = _QUOTED.findall(str(schema.get("description", "")))
            values = ["all", "*", *quoted, "", "%", "'", "zq", "a", "ä" * 20, "0"]
        else:
            owner = "a" if kind == "own" else "b"
            keys = [str(value) for value in self._named(name, self._pool.keys, owner)]
            texts = [str(value) for value in self._named(name, self._pool.texts, owner)]
            is_key = form == "uuid" or re.search(r"(^|_)(id|pk|key|uuid)$", name)
            values = [*keys, *texts] if is_key else [*keys[:2], *texts, *keys]
            values = values[: MAX_FOREIGN if kind == "foreign" else MAX_VALUES]
        if form == "uuid" and kind != "other":
            values = [value for value in values if _is_uuid(value)]
        least = schema.get("minLength", 0)
        yield from (value for value in dict.fromkeys(values) if least <= len(value) <= most)

    def _named(self, name: str, values: dict[str, list[tuple[str, Any]]], owner: str) -> list[Any]:
        """Return values with those first whose model or column is named like the argument."""
        word = _KEY_WORDS.sub("", name.lower()).rstrip("s")
        column = name.lower()
        mine = [*values.get("a", []), *values.get(SHARED, [])]
        found = mine
        if owner == "b":
            known = set(mine)
            taken = {value for _, value in mine}
            # A number that is a row's of both would say nothing, unless the argument says which model it is about.
            found = [
                (label, value)
                for label, value in values.get("b", [])
                if (label, value) not in known and (value not in taken or (word and word in label.split()[0]))
            ]
        first = [value for label, value in found if word and word in label.split()[0]]
        second = [value for label, value in found if label.split()[-1] == column]
        rest: dict[str, list[Any]] = {}
        for label, value in found:
            rest.setdefault(label, []).append(value)
        # One of each kind in turn, so that a bound leaves some of all.
        mixed = [kept[place] for place in range(4) for kept in rest.values() if place < len(kept)]
        both = [value for value in first if value in second]
        files = [value for _, value in found if value in self._pool.files] if _FILES.search(name) else []
        named = list(dict.fromkeys([*files, *both, *second, *first]))
        return list(dict.fromkeys([*named[:MAX_NAMED], *mixed, *named]))


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
