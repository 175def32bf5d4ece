"""Prompts with variables."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import ChatClient, PromptTemplate, PromptVariables
from assistant.providers import ScriptedModel


async def sent(client_options: dict[str, Any], message: Any, **settings: Any) -> list[str]:
    model = ScriptedModel("ok")
    await ChatClient(model=model, **client_options).call(message, **settings)
    return [one.content for one in model.requests[0].messages]


async def test_variables_of_the_client_and_of_the_call_are_merged() -> None:
    options = {"system": "In {{ city }} on {{day}}.", "variables": {"city": "Graz", "day": "Monday", "spare": 1}}
    assert await sent(options, "Hi") == ["In Graz on Monday.", "Hi"]
    assert await sent(options, "Hi", variables={"day": 2}) == ["In Graz on 2.", "Hi"]
    assert await sent(options, "Hi", system="Only {{ city }}") == ["Only Graz", "Hi"]


async def test_a_message_may_be_a_template() -> None:
    template = PromptTemplate("{{ a }} and \\{{ {{ b }}")
    assert await sent({}, template, variables={"a": "{{ b }}", "b": "x"}) == ["{{ b }} and {{ x"]
    assert template.names == ("a", "b")
    assert await sent({}, PromptTemplate("Plain")) == ["Plain"]


async def test_texts_are_no_templates_by_themselves() -> None:
    assert await sent({"system": "Keep {{ braces }}"}, "And {{ these }}") == ["Keep {{ braces }}", "And {{ these }}"]
    assert (await sent({"variables": {"a": 1}}, "And {{ these }}"))[-1] == "And {{ these }}"


@pytest.mark.parametrize(
    ("options", "message", "variables", "missing", "unknown"),
    [
        ({"system": "{{ city }}"}, "Hi", {"town": 1}, ("city",), ("town",)),
        ({}, PromptTemplate("{{ a }} {{ b }}"), {"a": 1}, ("b",), ()),
        ({}, PromptTemplate("{{ a }}"), {}, ("a",), ()),
        ({}, "Hi", {"a": 1}, (), ("a",)),
        ({"system": PromptTemplate("{{ no end")}, "Hi", {}, ("",), ()),
    ],
)
async def test_what_does_not_fit_is_an_error(
    options: Any, message: Any, variables: Any, missing: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    with pytest.raises(PromptVariables) as caught:
        await sent(options, message, variables=variables)
    assert (caught.value.missing, caught.value.unknown) == (missing, unknown)


@pytest.mark.parametrize("options", [{"variables": {"city": "Graz"}}, {}])
@pytest.mark.parametrize("place", ["{city}", "{ city }", "${city}"])
async def test_a_variable_in_single_braces_leads_to_double_ones(options: Any, place: str) -> None:
    given = {} if options else {"variables": {"city": "Graz"}}
    told = r"^\{city\} is text: write \{\{ city \}\} for the variable city\.$"
    with pytest.raises(PromptVariables, match=told) as caught:
        await sent({"system": f"You help in {place}.", **options}, "Hi", **given)
    assert (caught.value.single, caught.value.unknown) == (("city",), ())
    with pytest.raises(PromptVariables, match=told):
        await sent({**options}, PromptTemplate(f"The weather in {place}?"), **given)


async def test_single_braces_are_text_beside_the_variable_and_for_other_names() -> None:
    options = {"system": 'In {{ city }}, answer as {"a": {city}}, {town}.', "variables": {"city": "Graz", "a": 1}}
    assert (await sent(options, "In {city}?"))[0] == 'In Graz, answer as {"a": {city}}, {town}.'


def test_a_template_can_be_filled_alone() -> None:
    assert PromptTemplate("Dear {{ name }}").fill(name="Ann") == "Dear Ann"
    with pytest.raises(PromptVariables, match=r"There is no value for \{\{ name \}\}"):
        PromptTemplate("Dear {{ name }}").fill()


def test_braces_that_nothing_closes_are_named() -> None:
    with pytest.raises(PromptVariables, match=r"no value for two braces without \}\}\. Two braces as text are"):
        ChatClient(model=ScriptedModel("ok"), system="In {{ city", variables={}).call_sync(PromptTemplate("Hi"))
