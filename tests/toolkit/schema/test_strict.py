"""The strict form of a schema means the same as the schema itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from assistant.toolkit import InvalidArguments, Param, Tool, tool
from assistant.toolkit.schema.strict import strict_form
from tests.toolkit.reference import at_most


class Leaf(BaseModel):
    """A leaf."""

    name: str
    size: int = 3
    colour: Literal["green", "red"] = "green"
    leaves: list[Leaf] = []


@dataclass
class Twig:
    leaf: Leaf
    thick: bool = False


@tool
def grow(
    count: Annotated[int, Param("How many.", ge=1, le=9)],
    leaf: Leaf,
    twig: Twig | None = None,
    name: Annotated[str, Param("Its name.", max_length=20)] = "oak",
    maybe: int | None = None,
    either: int | list[str] = 0,
) -> str:
    """Grow a tree."""
    return "grown"


def objects(node: Any) -> list[dict[str, Any]]:
    """Yield all schemas of objects within a schema."""
    if isinstance(node, list):
        return [found for item in node for found in objects(item)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [found for item in node.values() for found in objects(item)]


def kept_keywords(node: Any, keywords: set[str]) -> set[str]:
    if isinstance(node, list):
        return keywords.union(*(kept_keywords(item, keywords) for item in node))
    if isinstance(node, dict):
        for key, value in node.items():
            inner = list(value.values()) if key in {"properties", "$defs"} else value
            keywords |= {key} | (set() if key in {"enum", "required"} else kept_keywords(inner, keywords))
    return keywords


def test_every_object_requires_all_and_allows_no_more() -> None:
    strict = grow.strict_parameters()
    found = objects(strict)
    assert len(found) == 3
    assert all(node["required"] == list(node["properties"]) for node in found)
    assert all(node["additionalProperties"] is False for node in found)
    assert kept_keywords(strict, set()) <= {
        "type", "properties", "required", "additionalProperties", "anyOf", "items", "enum", "description", "$ref",
        "$defs",
    }  # fmt: skip


def test_dropped_constraints_are_in_the_description() -> None:
    described = (grow.strict_parameters() or {})["properties"]
    assert described["count"]["description"] == "How many. (at least 1, at most 9)"
    assert described["name"]["description"] == "Its name. (at most 20 characters, default: oak)"


def free_keys(given: dict[str, int]) -> None: ...
def any_value(given: Any) -> None: ...
def pair(given: tuple[int, str]) -> None: ...
def null_or_nothing(given: int | None = 5) -> None: ...


@pytest.mark.parametrize("function", [free_keys, any_value, pair, null_or_nothing])
def test_a_schema_without_a_strict_form_gives_none(function: Callable[..., Any]) -> None:
    assert Tool.from_function(function, description="Take.").strict_parameters() is None


def test_a_hand_written_schema_has_a_strict_form_if_it_is_closed() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for closed, expected in (({}, None), ({"additionalProperties": False}, ["n"])):
        made = Tool(name="x", description="X.", parameters=schema | closed, handler=lambda n: n)
        assert (made.strict_parameters() or {}).get("required") == expected


leaves = st.recursive(
    st.fixed_dictionaries(
        {"name": st.text(max_size=3)},
        optional={"size": st.integers(0, 9), "colour": st.sampled_from(["green", "red"])},
    ),
    lambda inner: st.fixed_dictionaries({"name": st.just("n")}, optional={"leaves": st.lists(inner, max_size=3)}),
    max_leaves=5,
)
calls = st.fixed_dictionaries(
    {"count": st.integers(1, 9), "leaf": leaves},
    optional={
        "twig": st.none() | st.fixed_dictionaries({"leaf": leaves}, optional={"thick": st.booleans()}),
        "name": st.text(max_size=5),
        "maybe": st.none() | st.integers(),
        "either": st.integers() | st.lists(st.text(max_size=2), max_size=2),
    },
)


def as_strict(value: Any, schema: Any, root: Any) -> Any:
    """Return the arguments as a model in strict form sends them: null for everything that is left out."""
    schema = root["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    options = [as_strict(value, option, root) for option in schema.get("anyOf", ()) if fits(value, option)]
    if options:
        return options[0]
    if isinstance(value, dict):
        return {
            name: as_strict(value[name], wanted, root) if name in value else None
            for name, wanted in schema["properties"].items()
        }
    return [as_strict(item, schema["items"], root) for item in value] if isinstance(value, list) else value


def fits(value: Any, option: dict[str, Any]) -> bool:
    kinds = {dict: "object", list: "array", int: "integer", bool: "boolean", str: "string", type(None): "null"}
    return option.get("type") == kinds[type(value)] or ("$ref" in option and isinstance(value, dict))


@given(calls)
def test_arguments_mean_the_same_in_both_forms(arguments: dict[str, Any]) -> None:
    strict = as_strict(arguments, grow.strict_parameters(), grow.strict_parameters())
    nothing = {"twig": None, "maybe": None}
    assert nothing | grow.check(json.dumps(strict)) == nothing | grow.check(json.dumps(arguments))


class Near(BaseModel):
    size: int = 1
    name: str = "x"


class Far(BaseModel):
    size: int = 1
    miles: int = 5


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = "Rex"


class Tree(BaseModel):
    height: int = 0
    below: Tree | Near | None = None


class Lists(BaseModel):
    size: int = 1
    words: list[str] = []


def built(model: type[BaseModel], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[BaseModel]:
    return st.fixed_dictionaries({}, optional=fields).map(lambda given: model(**given))


sizes = st.integers(0, 3)
# A NUL is removed from arguments; half a surrogate pair is not JSON.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=2)
nears, fars = built(Near, size=sizes, name=TEXTS), built(Far, size=sizes, miles=sizes)
pets = built(Cat, lives=sizes) | built(Dog, name=TEXTS)
trees = st.recursive(nears | st.none(), lambda inner: built(Tree, height=sizes, below=inner), max_leaves=4)


@tool
def choose(one: Near | Far, many: list[Near | Far], pet: Cat | Dog, tree: Tree | Near | None = None) -> None:
    """Choose among alternatives."""


def nulled(value: Any) -> Any:
    """Return a value with null for everything that was not given."""
    if isinstance(value, list):
        return [nulled(item) for item in value]
    if not isinstance(value, BaseModel):
        return value
    given = value.model_fields_set
    return {name: nulled(getattr(value, name)) if name in given else None for name in type(value).model_fields}


@given(nears | fars, st.lists(nears | fars, max_size=3), pets, trees)
def test_null_properties_do_not_change_the_chosen_alternative(one: Any, many: Any, pet: Any, tree: Any) -> None:
    assert choose.strict_parameters() is not None
    meant = {"one": one, "many": many, "pet": pet, "tree": tree}
    assert choose.check(json.dumps({name: nulled(value) for name, value in meant.items()})) == meant


def only_a_list_tells(given: Near | Lists) -> None: ...
def part_of_the_other(given: Lists | SizeAlone) -> None: ...


class SizeAlone(BaseModel):
    size: int = 1


@pytest.mark.parametrize("function", [only_a_list_tells, part_of_the_other])
def test_alternatives_that_nulls_would_mix_up_have_no_strict_form(function: Callable[..., Any]) -> None:
    made = Tool.from_function(function, description="Take.")
    assert made.strict_parameters() is None
    if function is only_a_list_tells:
        with pytest.raises(InvalidArguments):
            made.check('{"given": {"size": null, "words": null}}')


def test_given_values_are_not_replaced_by_defaults() -> None:
    assert choose.check('{"one": {"size": "2", "miles": null}, "many": [], "pet": {"lives": null, "kind": null}}') == {
        "one": Far(size=2),
        "many": [],
        "pet": Cat(),
    }


def test_a_schema_with_hundreds_of_alternatives_has_no_strict_form_and_costs_nothing() -> None:
    options = [
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, f"z{number}": {"type": "integer"}},
            "required": [f"z{number}"],
            "additionalProperties": False,
        }
        for number in range(300)
    ]
    schema = {
        "type": "object",
        "properties": {"x": {"anyOf": options}},
        "required": ["x"],
        "additionalProperties": False,
    }
    with at_most(10.0):
        assert strict_form(schema) is None
