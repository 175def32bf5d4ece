"""An option that does not exist is an error that names it, and those that there are."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pickle
import pydoc
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assistant.client import Agent, ChatClient, Limits, McpServer, Session, find_tools
from assistant.client.client_options import ClientOptions
from assistant.providers import AnthropicModel, GoogleModel, OpenAIModel, ResponsesModel, ScriptedModel
from assistant.toolkit import InvalidTool, Tool, ToolContext, tool
from assistant.toolkit.unknown_options import option_names
from tests.docs.snippets import ROOT, codes, table

PUBLIC = "## Python"
# Made by others, by their own rules: Django's rows and middleware, pytest's fixtures, unittest's cases. And two
# functions whose only arguments every caller gives.
OTHERS = {"assistant.models", "assistant.contrib.mcp_servers.models", "assistant.testing.pytest_plugin"}
OTHER_NAMES = {"HostRows", "AssistantTestMixin", "log_calls", "schema_tokens"}


def public() -> Iterator[Any]:
    """What docs/contract.md names that takes options."""
    for module, names in table(ROOT / "docs/contract.md", PUBLIC):
        (path,) = codes(module)
        if path in OTHERS:
            continue
        for name in codes(names):
            one = getattr(importlib.import_module(path), name)
            if name not in OTHER_NAMES and callable(one) and takes_names(one):
                yield pytest.param(one, id=f"{path}.{name}")


def takes_names(one: Any) -> bool:
    try:
        kinds = {parameter.kind for parameter in inspect.signature(one).parameters.values()}
    except ValueError:  # an exception of the class's own has none
        return False
    return inspect.Parameter.VAR_KEYWORD not in kinds and bool(option_names(one))


@pytest.mark.parametrize("one", list(public()))
def test_what_is_public_names_an_unknown_option_and_lists_its_own(one: Any) -> None:
    text = message_of(one, tolls=1)
    assert "tolls" in text
    assert set(option_names(one)) <= set(re.findall(r"\w+", text))


@pytest.mark.parametrize("model", [AnthropicModel, GoogleModel, OpenAIModel, ResponsesModel, ScriptedModel])
def test_a_model_is_called_by_its_own_name_and_lists_all_its_options(model: type[Any]) -> None:
    text = message_of(model, "m", api_kye="k")
    assert text.startswith(model.__name__)
    assert "NativeModel" not in text and (model is OpenAIModel) == ("OpenAIModel" in text)
    if model is not ScriptedModel:
        assert {"api_key", "base_url", "timeout", "extra_body"} <= set(re.findall(r"\w+", text))


METHODS = [
    ChatClient.execute,
    ChatClient.session,
    ChatClient.compact,
    Session.compact,
    Tool.client_side,
    Tool.provider_side,
    ToolContext.report_progress,
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__qualname__.rpartition(". ")[2])
def test_a_method_does_so_too(method: Any) -> None:
    text = message_of(method, **{} if inspect.ismethod(method) else {"self": None}, tolls=1)
    names = [name for name in option_names(method) if name != "self"]
    assert f"{method.__name__} takes {', '.join(names)}. " in text
    assert text.endswith(f"{method.__name__}() got an unexpected keyword argument 'tolls'")


def test_a_class_costs_nothing_for_it_and_a_function_is_still_found_by_its_name() -> None:
    assert not hasattr(Limits.__init__, "__wrapped__")
    assert Limits.__init__.__code__.co_filename == "<string>"  # as dataclasses made it
    assert pickle.loads(pickle.dumps(find_tools)) is find_tools
    assert inspect.iscoroutinefunction(ChatClient.execute)


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}."


def message_of(call: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(TypeError) as raised:
        call(*args, **options)
    return str(raised.value)


def test_copies_say_the_same() -> None:
    with pytest.raises(InvalidTool, match=r"no options named tmeout\. There are: name, .*, timeout"):
        greet.replace(tmeout=1)
    server = McpServer(url="http://localhost:1/mcp")
    text = message_of(dataclasses.replace, server, ulr="")
    assert text.startswith("McpServer takes url, ") and text.endswith(
        "McpServer() got an unexpected keyword argument 'ulr'"
    )


def test_a_model_lists_what_its_tools_may_have_beside_them() -> None:
    model = ScriptedModel("ok")
    text = message_of(model.with_tools, greet, contxt={})
    assert text.startswith("with_tools() has no options named contxt. There are: fallback, system, variables, deps")
    assert message_of(model.with_tools, greet, model=model).startswith("with_tools() has no options named model.")
    assert message_of(model.with_tools(greet).with_tools, contxt={}) == text


def test_what_a_model_takes_beside_tools_is_what_a_client_takes_by_the_same_types() -> None:
    of_client = {name: one.annotation for name, one in inspect.signature(ChatClient).parameters.items()}
    typed = {name: one.__forward_arg__ for name, one in ClientOptions.__annotations__.items()}
    assert {**typed, "model": of_client["model"], "tools": of_client["tools"]} == of_client


def test_other_mistakes_stay_as_they_are() -> None:
    assert message_of(ChatClient).endswith("ChatClient() missing 1 required keyword-only argument: 'model'")
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
    assert message_of(Shop, "Graz", tolls=[]).startswith("ChatClient takes model, ")


@pytest.mark.parametrize("cls", [ChatClient, McpServer, Agent, OpenAIModel])
def test_help_shows_the_options_with_their_types(cls: Any) -> None:
    names = option_names(cls)
    assert list(inspect.signature(cls).parameters) == names
    shown = pydoc.plain(pydoc.render_doc(cls)).split("Methods")[0]
    assert f"{names[0]}: " in shown and "**options" not in shown
