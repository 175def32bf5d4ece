"""Fields that the model fills beside a tool's parameters: who sees them, and that tools never do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

from assistant.client import Cache, ChatClient, Decision, Invocation, Message, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import Example, InvalidArguments, InvalidTool, Tool, ToolContext, tool


class Reasons(BaseModel):
    why: str = Field(description="Why this call is needed.")
    confidence: Literal["low", "high"] = "high"


WHY = '"why": "Bob asked", "confidence": "low"'


@tool(augmentation=Reasons)
def get_customer(number: int) -> str:
    """Retrieve a customer's record."""
    return f"Customer {number} is Bob."


def client(*turns: object, **options: object) -> ChatClient:
    return ChatClient(model=ScriptedModel(turns), **options)  # type: ignore[arg-type]


def lookup(text: str = f'{{"number": 42, {WHY}}}', name: str = "get_customer") -> ToolCall:
    return ToolCall("", name, text)


async def test_the_model_fills_the_fields_and_the_tool_never_gets_them() -> None:
    asked = client(lookup(), "Bob.", tools=[get_customer])
    reply = await asked.call("Who?")
    (call,) = reply.tool_calls
    assert (call.arguments, call.result) == ({"number": 42}, "Customer 42 is Bob.")
    assert call.fields == {"why": "Bob asked", "confidence": "low"}
    (offered,) = asked.model.requests[0].tools  # type: ignore[attr-defined]
    assert list(offered.parameters["properties"]) == ["why", "confidence", "number"]
    assert offered.parameters["required"] == ["why", "number"]


async def test_a_field_that_is_missing_goes_back_to_the_model() -> None:
    reply = await client(lookup('{"number": 42}'), lookup(), "Bob.", tools=[get_customer]).call("Who?")
    first, second = reply.tool_calls
    assert first.status == "error" and "why" in (first.result or "") and second.status == "ok"


def test_the_strict_schema_has_them_too() -> None:
    strict = get_customer.strict_parameters()
    assert strict is not None and strict["required"] == ["why", "confidence", "number"]


async def test_a_clients_fields_are_those_of_all_its_tools_but_not_of_one_with_its_own() -> None:
    class Cost(BaseModel):
        cost: int

    def plain(number: int) -> str:
        """Look up."""
        return str(number)

    asked = client("ok", tools=[plain, get_customer], augmentation=Cost)
    await asked.call("?")
    offered = {one.name: list(one.parameters["properties"]) for one in asked.model.requests[0].tools}  # type: ignore[attr-defined]
    assert offered == {"plain": ["cost", "number"], "get_customer": ["why", "confidence", "number"]}


def test_a_clash_with_a_parameter_is_refused() -> None:
    def explain(why: str) -> str:
        """Explain."""
        return why

    with pytest.raises(InvalidTool, match="'explain' has parameters of its own named why"):
        tool(augmentation=Reasons)(explain)
    with pytest.raises(InvalidTool, match="named why"):
        client("ok", tools=[explain], augmentation=Reasons)


def test_what_is_no_model_with_fields_is_refused() -> None:
    class Nothing(BaseModel):
        pass

    for wrong, reason in ((dict, "pydantic model"), (Nothing, "has fields")):
        with pytest.raises(InvalidTool, match=reason):
            get_customer.replace(augmentation=wrong)


async def test_who_approves_sees_them_and_an_edit_need_not_repeat_them() -> None:
    careful = get_customer.replace(requires_approval=True)
    asked = client(lookup(), "Bob.", tools=[careful])
    waiting = await asked.call("Who?")
    assert waiting.pending[0].fields["why"] == "Bob asked"
    decisions = {call.id: Decision(True, edited_arguments={"number": 7}) for call in waiting.pending}
    reply = await asked.call(history=waiting.messages, decisions=decisions)
    assert "Customer 7 is Bob." in next(one.content for one in reply.messages if one.role == "tool")


async def test_functions_about_a_call_get_its_own_arguments() -> None:
    seen: list[Mapping[str, Any]] = []

    def approve(arguments: Mapping[str, Any], context: ToolContext) -> bool:
        seen.append(arguments)
        return False

    await client(lookup(), "Bob.", tools=[get_customer.replace(requires_approval=approve)]).call("Who?")
    assert seen == [{"number": 42}]


async def test_interceptors_read_the_fields_apart_from_the_arguments() -> None:
    seen: list[object] = []

    async def audit(invocation: Invocation, call: Any) -> Any:
        seen.extend([invocation.parsed(), invocation.fields])
        return await call(Invocation(invocation.tool, {"number": 7}, invocation.context))

    reply = await client(lookup(), "Bob.", tools=[get_customer], interceptors=[audit]).call("Who?")
    assert seen == [{"number": 42}, Reasons(why="Bob asked", confidence="low")]
    assert reply.tool_calls[0].result == "Customer 7 is Bob."


# How often a tool ran: not within it, since `Cache` looks at what a function closes over.
RAN: list[int] = []


async def test_kept_results_and_repeated_calls_do_not_look_at_them() -> None:
    RAN.clear()

    @tool(augmentation=Reasons, idempotent=True, read_only=True)
    def count(number: int) -> str:
        """Count."""
        RAN.append(number)
        return "counted"

    calls = [lookup(f'{{"number": 1, "why": "reason {n}"}}', "count") for n in range(3)]
    reply = await client(*calls, "ok", tools=[count], interceptors=[Cache()]).call("?")
    assert RAN == [1]
    assert [call.status for call in reply.tool_calls] == ["ok", "ok", "refused"]


def test_examples_have_a_tools_own_arguments() -> None:
    assert get_customer.replace(examples=[Example(user="Who is 1?", arguments={"number": 1})]).examples


async def test_arguments_keep_all_their_digits() -> None:
    @tool(augmentation=Reasons)
    def pay(amount: Decimal) -> str:
        """Pay."""
        return str(amount)

    reply = await client(lookup(f'{{"amount": 0.12345678901234567890123, {WHY}}}', "pay"), "ok", tools=[pay]).call("?")
    assert reply.tool_calls[0].result == "0.12345678901234567890123"


async def test_tools_of_the_client_and_of_the_loop_by_hand_get_their_own_arguments() -> None:
    locate = Tool.client_side(
        name="locate", description="Locate.", parameters={"type": "object", "properties": {"precise": {}}}
    )
    call = lookup('{"precise": true, "why": "asked"}', "locate")
    asked = await client(call, "Graz.", augmentation=Reasons).call("Where?", client_tools=[locate])
    assert (asked.pending[0].arguments, asked.pending[0].fields) == ({"precise": True}, {"why": "asked"})
    by_hand = client(lookup(), "Bob.", tools=[get_customer])
    left = await by_hand.call("Who?", execute_tools=False)
    assert left.pending[0].arguments == {"number": 42}
    done = await by_hand.execute(left)
    assert (done.tool_calls[0].result, done.tool_calls[0].fields["why"]) == ("Customer 42 is Bob.", "Bob asked")


async def test_types_and_validators_of_a_model_hold_and_its_types_are_not_mixed_with_a_tools() -> None:
    class Inner(BaseModel):
        kind: int

    def model() -> type[BaseModel]:
        class Inner(BaseModel):
            text: str

        class Audit(BaseModel):
            inner: Inner

            @field_validator("inner")
            @classmethod
            def short(cls, value: Inner) -> Inner:
                if len(value.text) > 3:
                    raise ValueError("too long")
                return value

        return Audit

    def save(item: Inner, again: Inner) -> str:
        """Save."""
        return f"{item.kind}{again.kind}"

    audited = Tool.from_function(save, augmentation=model(), localns={"Inner": Inner})
    own = {"item": {"kind": 1}, "again": {"kind": 2}}
    assert set(await audited.checked({**own, "inner": {"text": "abc"}})) == {"item", "again"}
    with pytest.raises(InvalidArguments, match="too long"):
        await audited.checked({**own, "inner": {"text": "abcd"}})
    assert json.dumps(audited.parameters).count('"kind"') > 0 and '"text"' in json.dumps(audited.parameters)


def test_the_fields_can_be_taken_off_again() -> None:
    plain = get_customer.replace(name="plain").replace(augmentation=None)
    assert list(plain.parameters["properties"]) == ["number"] and plain.check('{"number": 1}') == {"number": 1}


async def test_the_history_keeps_what_the_model_wrote() -> None:
    reply = await client(lookup(), "Bob.", tools=[get_customer]).call([Message("user", "Who?")])
    assert "Bob asked" in reply.messages[1].tool_calls[0].arguments


class Why(BaseModel):
    why: str


async def test_each_tenant_has_its_own_fields() -> None:
    model = ScriptedModel(["ok", "ok", "ok"])

    @tool
    def look_up(number: int) -> str:
        """Look something up."""
        return str(number)

    client = ChatClient(
        model=model, tools=[look_up], augmentation=lambda context: Why if context.tenant.slug == "acme" else None
    )
    for tenant in ("acme", "globex"):
        await client.call("?", context={"tenant": {"slug": tenant}})
    parameters = [list(request.tools[0].parameters["properties"]) for request in model.requests]
    assert parameters == [["why", "number"], ["number"]]


async def test_a_function_that_gives_no_model_ends_the_call() -> None:
    client = ChatClient(model=ScriptedModel(["ok"]), augmentation=lambda context: 7)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidTool, match="no pydantic model"):
        await client.call("?")
