"""Settings of a client and of a call that are wrong: the error names the setting and what there is to choose."""

from __future__ import annotations

import re
from typing import Any

import pytest

from assistant.client import ChatClient, Decision, InMemoryStore, Limits, McpServer, PromptLog, RunFailed, ToolCall
from assistant.providers import ScriptedModel
from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidTool, Registry, Tool, UnknownTool


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tolls": []}, "no settings named tolls. There are: tools, more_tools,"),
        ({"output_mode": "json"}, "output_mode must be one of native, tool, prompt, not 'json'"),
        ({"execute_tools": "no"}, "execute_tools must be True, False, or a function"),
        (
            {"execute_tools": lambda reply: True},
            "execute_tools must take 2 positional arguments: it gets the",
        ),
        ({"limits": 5}, "limits must be a Limits, not int"),
        ({"options": "hot"}, "options must be a mapping, not str"),
        ({"decisions": {"c1": True}}, "decisions must be a mapping of call ids to Decision values; True is none"),
        ({"files": ["a.png"]}, "files must be a list of Media values; 'a.png' is none"),
        ({"client_tools": ["a"]}, "client_tools must be a list of Tool values; 'a' is none"),
        ({"limits": Limits(rounds="3")}, "rounds of Limits must be a number, 0 for no limit, not '3'"),  # type: ignore[arg-type]
        ({"on_error": "ignore"}, 'on_error must be "model", "raise", a function or a mapping'),
    ],
)
async def test_a_setting_that_is_none_names_the_choices(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        await ChatClient(model=ScriptedModel("ok")).call("?", **settings)


async def test_a_tool_choice_that_is_none_names_the_choices() -> None:
    with pytest.raises(RunFailed, match=r"no tool named .must. to choose\. Choices: auto, none, required, look_up\."):
        await ChatClient(model=ScriptedModel("ok")).call(
            "?", tools=[Tool.from_function(lambda: 1, name="look_up", description="Look up.")], tool_choice="must"
        )


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"variables": ["a"]}, "variables must be a mapping, not list"),
        ({"secrets": "key"}, "secrets must be a mapping, not str"),
        ({"limits": {"rounds": 3}}, "limits must be a Limits, not dict"),
        ({"history_messages": "3"}, "history_messages must be a whole number, 0 for no limit, not str"),
        ({"extensions": PromptLog()}, "extensions must be a list of Extension values, not PromptLog"),
        ({"interceptors": print}, "interceptors must be a list of functions, not builtin_function_or_method"),
        ({"resolvers": Registry([])}, "resolvers must be a list of registries and functions, not Registry"),
        ({"fallback": "gpt-4.1"}, "fallback must be a model, or a list of models, not 'gpt-4.1'"),
        ({"store": {}}, "store must be something with load and append, such as InMemoryStore(), not {}"),
        (
            {"augmentation": {"why": str}},
            "augmentation must be a pydantic model or a function of the context, not dict",
        ),
        (
            {"augmentation": dict},
            "augmentation must be a pydantic model or a function of the context, not the class dict",
        ),
        ({"augmentation": lambda: None}, "augmentation must take 1 positional argument: it gets the context"),
    ],
)
def test_an_option_of_another_type_is_refused_when_the_client_is_made(option: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        ChatClient(model=ScriptedModel("ok"), **option)


def test_a_name_that_no_resolver_knows_lists_those_of_registries() -> None:
    known = Registry([Tool.from_function(lambda: 1, name="look_up", description="Look up.")])
    with pytest.raises(UnknownTool, match=r"no tool named 'lookup'\. Tools: look_up\."):
        ChatClient(model=ScriptedModel("ok"), tools=["lookup"], resolvers=[known])


LOOK_UP = Tool.from_function(lambda: 1, name="look_up", description="Look up.")


@pytest.mark.parametrize("option", ["configs", "secrets"])
@pytest.mark.parametrize("name", ["lookup", "Look_Up"])
def test_a_misspelt_tool_in_configs_or_secrets_is_refused(option: str, name: str) -> None:
    told = f"{option} names {name!r}, which is no tool of the client: is 'look_up' meant? Tools: look_up."
    options: dict[str, Any] = {option: {name: {}}}
    with pytest.raises(InvalidTool, match=re.escape(told)):
        ChatClient(model=ScriptedModel("ok"), tools=[LOOK_UP], **options)


def test_tools_that_come_later_may_have_configs_and_secrets() -> None:
    for tools in ([LOOK_UP], [], lambda context: [LOOK_UP]):
        ChatClient(model=ScriptedModel("ok"), tools=tools, secrets={"look_up": {}, "send_mail": {}})


def test_a_tool_that_comes_later_may_be_named_nearly_as_another() -> None:
    client = ChatClient(model=ScriptedModel(["ok"]), tools=[LOOK_UP], configs={"look_up": {}, "look_ups": {}})
    assert client.call_sync("?", more_tools=[LOOK_UP.replace(name="look_ups")]).text == "ok"


@pytest.mark.parametrize("option", ["configs", "secrets"])
@pytest.mark.parametrize("tools", [[LOOK_UP], ["look_up"], [[LOOK_UP]]])
async def test_a_name_that_no_tool_has_is_told_at_the_first_call(
    option: str, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {option: {"send_mail": {}}}
    client = ChatClient(model=ScriptedModel(["ok", "ok"]), tools=tools, resolvers=[Registry([LOOK_UP])], **options)
    await client.call("?")
    await client.call("?")
    told = f"{option} of ChatClient names 'send_mail', which is no tool of this call. Tools: look_up"
    assert caplog.messages == [told]


async def test_a_misspelt_tool_of_a_provider_is_told_and_those_of_other_tenants_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plans = {"free": [LOOK_UP], "paid": [LOOK_UP, LOOK_UP.replace(name="send_mail")]}
    client = ChatClient(
        model=ScriptedModel(["ok", "ok", "ok"]),
        tools=lambda context: plans[context.extra["plan"]],
        secrets={"lookup": {}, "send_mail": {}},
    )
    await client.call("?", context={"plan": "free"})
    await client.call("?", context={"plan": "paid"})
    await client.call("?", tools=[LOOK_UP], context={"plan": "free"})
    told = "secrets of ChatClient names 'lookup', which is no tool of this call: is 'look_up' meant? Tools: look_up"
    assert caplog.messages == [told]


async def test_a_name_that_a_function_or_a_call_may_bring_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    mail = LOOK_UP.replace(name="send_mail")
    client = ChatClient(
        model=ScriptedModel(["ok", "ok"]), resolvers=[{"send_mail": mail}.get], secrets={"send_mail": {}}
    )
    await client.call("?")
    client = ChatClient(model=ScriptedModel(["ok", "ok"]), secrets={"send_mail": {}, "look_up": {}})
    await client.call("?", tools=[mail])
    await client.call("?", more_tools=[LOOK_UP])
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("secrets", "told"),
    [
        ({"kye": "x"}, "Tool 'pay' declares no secrets named kye. There are: key, pin."),
        ({"key": None}, "The secrets of tool 'pay': key must be a text, not NoneType"),
        ("x", "The secrets of tool 'pay' must be a mapping of names to texts, not str"),
    ],
)
def test_secrets_that_a_tool_cannot_use_are_refused(secrets: Any, told: str) -> None:
    pay = LOOK_UP.replace(name="pay", secrets=["key", "pin"])
    with pytest.raises(InvalidTool, match=re.escape(told)):
        ChatClient(model=ScriptedModel("ok"), tools=[pay], secrets={"pay": secrets})
    with pytest.raises(InvalidTool, match=re.escape(told)):
        ChatClient(model=ScriptedModel("ok"), secrets={"pay": secrets}).call_sync("?", tools=[pay])
    with pytest.raises(InvalidTool, match=re.escape(told)):
        ToolTester(pay, secrets=secrets)


def test_secrets_of_a_tool_that_declares_none_are_refused() -> None:
    with pytest.raises(InvalidTool, match=r"tool 'look_up' name key, but it declares none: @tool\(secrets="):
        ChatClient(model=ScriptedModel("ok"), tools=[LOOK_UP], secrets={"look_up": {"key": "x"}})


def test_a_models_name_is_no_model() -> None:
    with pytest.raises(TypeError, match="must be a model, such as OpenAIModel"):
        ChatClient(model="gpt-4.1-mini")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"only": "search"}, "only of an MCP server must be a list of names or a function of a tool, not str"),
        ({"only": 7}, "only of an MCP server must be a list of names or a function of a tool, not int"),
        ({"only": lambda: True}, "only of an MCP server must take 1 positional argument"),
        ({"timeout": "5"}, "timeout of an MCP server must be a number of seconds above 0, not '5'"),
        ({"timeout": 0}, "timeout of an MCP server must be a number of seconds above 0, not 0"),
        ({"headers": ["Authorization"]}, "headers of an MCP server must be a mapping, not list"),
        ({"url": 7}, "url of an MCP server must be a text, not int"),
        ({"prefix": 7}, "prefix of an MCP server must be a text, not int"),
    ],
)
def test_an_option_of_another_type_is_refused_when_an_mcp_server_is_made(option: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        McpServer(**{"url": "http://localhost:1/mcp", **option})


def test_a_lambda_that_does_not_take_the_context_says_what_it_lacks() -> None:
    with pytest.raises(InvalidTool, match=r"A lambda is no tool.*tools=lambda context: \[\.\.\.\]"):
        ChatClient(model=ScriptedModel("ok"), tools=lambda: [LOOK_UP])


@pytest.mark.parametrize("name", ["tenant", "user"])
@pytest.mark.parametrize("value", ["acme", 7, {"slugg": "acme"}])
async def test_a_tenant_or_user_that_is_none_is_refused_where_its_conversation_would_be_nobodys(
    name: str, value: Any
) -> None:
    told = rf"{name} of context must be a \w+, or a mapping of its fields: id, "
    client = ChatClient(model=ScriptedModel("ok"), store=InMemoryStore())
    with pytest.raises(TypeError, match=told):
        await client.call("?", conversation="c1", context={name: value})
    with pytest.raises(TypeError, match=told):
        client.session("c1", context={name: value})


async def test_no_tenant_at_all_is_one_of_a_program_of_its_own() -> None:
    client = ChatClient(model=ScriptedModel(["ok"] * 3))
    for context in ({}, {"tenant": None}, {"tenant": {}}):
        assert (await client.call("?", context=context)).text == "ok"


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"system": 5}, TypeError, "system must be a text or a PromptTemplate, not int"),
        ({"store": InMemoryStore}, TypeError, "store must be something with load and append, such as InMemoryStore()"),
        ({"model": ScriptedModel}, TypeError, "model must be a model, such as OpenAIModel"),
        ({"search_over": -5}, ValueError, "search_over must be 0 for no limit, or more, not -5"),
        ({"history_tokens": -1}, ValueError, "history_tokens must be 0 for no limit, or more, not -1"),
    ],
)
def test_classes_negative_numbers_and_prompts_that_are_none_are_refused(
    options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=re.escape(told)):
        ChatClient(**{"model": ScriptedModel("ok"), **options})


async def test_a_call_refuses_a_prompt_and_a_message_that_are_none() -> None:
    client = ChatClient(model=ScriptedModel("ok"))
    with pytest.raises(TypeError, match="system must be a text or a PromptTemplate, not int"):
        await client.call("?", system=5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="A message is a text, a PromptTemplate or a list of messages, not int"):
        await client.call(5)  # type: ignore[call-overload]


async def test_a_decision_on_a_call_that_does_not_wait_is_refused() -> None:
    careful = LOOK_UP.replace(requires_approval=True)
    client = ChatClient(model=ScriptedModel([ToolCall("c1", careful.name, "{}"), "ok"]), tools=[careful])
    waiting = await client.call("?")
    told = re.escape("decisions name c2, which no call waits for. Calls: c1.")
    with pytest.raises(ValueError, match=told):
        await client.call(history=waiting.messages, decisions={"c2": Decision(True)})
    with pytest.raises(ValueError, match=told):
        await client.execute(waiting, decisions={"c1": Decision(True), "c2": Decision(True)})
    with pytest.raises(ValueError, match=r"Calls: none\."):
        await client.call("Hi", decisions={"c1": Decision(True)})
    assert (await client.call(history=waiting.messages, decisions={"c1": Decision(False)})).text == "ok"


@pytest.mark.parametrize("reply", [None, "ok"])
async def test_what_is_no_reply_cannot_be_executed(reply: Any) -> None:
    with pytest.raises(ValueError, match="is no reply that a client has made"):
        await ChatClient(model=ScriptedModel("ok")).execute(reply)
