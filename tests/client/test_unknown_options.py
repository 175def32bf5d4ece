"""An option that does not exist is an error that names it, and those that there are."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
from collections.abc import Callable
from typing import Any

import pytest

from assistant.client import (
    Agent,
    Cache,
    ChatClient,
    EmulatedTools,
    FixedToolset,
    McpServer,
    PromptLog,
    Redact,
    RedactPrompts,
    SafeguardWords,
)
from assistant.providers import AnthropicModel, GoogleModel, OpenAIModel, ResponsesModel, ScriptedModel
from assistant.testing import ChatTester
from assistant.toolkit import Example, InvalidTool, Media, Pending, Question, tool
from assistant.toolkit.testing import ToolTester
from assistant.toolkit.unknown_options import option_names

CLASSES = [
    (ChatClient, ("model", "tools", "on_question")),
    (McpServer, ("url", "command", "raises_errors")),
    (Agent, ("name", "toolset", "output_type")),
    (FixedToolset, ("tools", "secrets")),
    (EmulatedTools, ("results", "only")),
    (SafeguardWords, ("words", "sentence")),
    (PromptLog, ("redact", "mark")),
    (RedactPrompts, ("mark",)),
    (Redact, ("mark",)),
    (Cache, ("seconds", "size")),
    (Example, ("user", "before")),
    (Media, ("data", "media_type")),
    (Pending, ("until",)),
    (Question, ("text", "schema")),
    (ToolTester, ("tool",)),
    (ChatTester, ("tenant", "door")),
    (ScriptedModel, ("turns", "name")),
    (OpenAIModel, ("base_url", "api_key")),
    (ResponsesModel, ("base_url", "api_key")),
    (AnthropicModel, ("base_url", "extra_body")),
    (GoogleModel, ("base_url", "extra_body")),
]


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}."


def message_of(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(TypeError) as raised:
        call(*args, **options)
    return str(raised.value)


@pytest.mark.parametrize(("cls", "choices"), CLASSES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_class_names_an_unknown_option_and_lists_its_own(cls: Any, choices: tuple[str, ...]) -> None:
    begin, _, listed = message_of(cls, tolls=1).partition(" There are: ")
    assert begin == f"{cls.__name__} has no options named tolls."
    assert set(choices) <= set(listed.removesuffix(".").split(", "))


def test_copies_say_the_same() -> None:
    with pytest.raises(InvalidTool, match=r"no options named tmeout\. There are: name, .*, timeout"):
        greet.replace(tmeout=1)
    server = McpServer(url="http://localhost:1/mcp")
    assert "McpServer has no options named ulr. There are: url" in message_of(dataclasses.replace, server, ulr="")


def test_a_model_lists_what_its_tools_may_have_beside_them() -> None:
    model = ScriptedModel("ok")
    text = message_of(model.with_tools, greet, contxt={})
    assert text.startswith("with_tools() has no options named contxt. There are: fallback, system, variables, deps")
    assert message_of(model.with_tools, greet, model=model).startswith("with_tools() has no options named model.")
    assert message_of(model.with_tools(greet).with_tools, contxt={}) == text


def test_other_mistakes_stay_as_they_are() -> None:
    assert message_of(ChatClient) == "ChatClient.__init__() missing 1 required keyword-only argument: 'model'"
    assert message_of(ChatClient, model=7).startswith("model must be a model, such as OpenAIModel(")
    with pytest.raises(ValueError, match="either a URL, or a command"):
        McpServer()


class Shop(ChatClient[None]):
    """A client of a program's own."""

    def __init__(self, city: str, **options: Any) -> None:
        self.city = city
        super().__init__(model=ScriptedModel("ok"), **options)


def test_a_subclass_passes_options_on() -> None:
    assert Shop("Graz", tools=[greet]).call_sync("Hi").text == "ok"
    assert message_of(Shop, "Graz", tolls=[]).startswith("Shop has no options named tolls. There are: model, ")


@pytest.mark.parametrize("cls", [ChatClient, McpServer, Agent, OpenAIModel])
def test_help_shows_the_options_with_their_types(cls: Any) -> None:
    names = option_names(cls)
    assert list(inspect.signature(cls).parameters) == names
    shown = pydoc.plain(pydoc.render_doc(cls)).split("Methods")[0]
    assert f"{names[0]}: " in shown and "**options" not in shown
