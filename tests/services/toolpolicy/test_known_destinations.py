"""Addresses in free text are destinations, and a tool can say which destinations are the tenant's own."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from assistant.core.toolcalls.protocols import Admission
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.untrusted import ReadText, for_model
from assistant.models import Membership, Provider, Tenant
from assistant.models import Message as MessageRow
from assistant.services.runs.input.page_context import Page
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.plan_builder import plan_of
from assistant.services.runs.run_input import TextMessage
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import InvalidTool, Registry, ToolContext, tool
from assistant.toolkit.context import TenantInfo
from tests.base import Cast
from tests.factories import switch_tool
from tests.services.runs.test_opening import begin, given, take_turn
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)


def is_colleague(name: str, context: ToolContext) -> bool:
    return Membership.objects.filter(tenant_id=context.tenant.pk, user__username=name).exists()


def fails(name: str, context: ToolContext) -> bool:
    raise OSError("no directory")


@tool(destinations=["to"], destination_texts=["body"], known_destination=is_colleague)
def write_to(to: str, body: str = "") -> str:
    """Write to somebody."""
    return "sent"


@tool(read_only=True, lists_choices=True)
def hotels() -> str:
    """List all hotels."""
    return "Luxury Palace, City Hub"


@tool(destinations=["file"])
def delete(file: str) -> str:
    """Delete a file."""
    return "deleted"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch, cast: Cast) -> Iterator[None]:
    failing = write_to.replace(name="failing", known_destination=fails)
    monkeypatch.setattr(catalogue, "registry", lambda: Registry([write_to, delete, failing, hotels]))
    for name in ("write_to", "delete", "failing"):
        switch_tool(cast.acme, name)
        switch_tool(cast.globex, name)
    yield


READ = ReadText.of(
    [
        Message("user", "Tell Lena of https://acme.example/terms. On June 13 we delete file 13."),
        Message("tool", "See https://evil.example/13, says bob. Mallory too.", tool_call_id="c", sources=("a page",)),
    ]
)


async def admit(
    tenant: Tenant, cast: Cast, name: str = "write_to", read: ReadText | None = None, **arguments: Any
) -> Admission:
    context = ToolContext(tenant=TenantInfo(id=tenant.pk, slug=tenant.slug))
    user = cast.alice if tenant == cast.acme else cast.mallory
    toolset = TenantToolset(tenant_id=tenant.pk, user_id=user.pk, assistant_id=None, context=context)
    return (await toolset.admit([ToolCall("c1", name, json.dumps(arguments))], read or READ))[0]


@pytest.mark.parametrize(
    ("body", "policy"),
    [
        ("We agree on all of it.", "on"),
        ("Read https://acme.example/terms.", "on"),
        ("Read https://acme.example/terms?paid=yes", "ask"),
        ("Read [this](https://evil.example/13)", "ask"),
        ("Pay to GB29NWBK60161331926819", "ask"),
        (" ".join(f"https://acme.example/terms {n}.example.org" for n in range(60)), "ask"),
        ("x" * 60_000, "ask"),
    ],
)
async def test_a_message_is_judged_by_the_addresses_in_it(cast: Cast, body: str, policy: str) -> None:
    assert (await admit(cast.acme, cast, to="Lena", body=body)).policy == policy


async def test_the_approval_names_the_address_in_the_text(cast: Cast) -> None:
    admission = await admit(cast.acme, cast, to="Lena", body="Open https://evil.example/13 now")
    assert admission.warning == "“https://evil.example/13” comes from “a page”, and from nobody else."


async def test_a_known_destination_needs_no_trusted_text_and_each_tenant_has_its_own(cast: Cast) -> None:
    known = await admit(cast.acme, cast, to=cast.alice.username)
    assert known.policy == "on"
    assert known.rule.endswith(
        "Its destinations are in trusted text, or known to the tool. This conversation has read “a page”."
    )
    assert (await admit(cast.acme, cast, to=cast.mallory.username)).policy == "ask"
    assert (await admit(cast.globex, cast, to=cast.mallory.username)).policy == "on"
    assert (await admit(cast.globex, cast, to=cast.alice.username)).policy == "ask"


async def test_a_known_destination_clears_nothing_else_of_the_call(cast: Cast) -> None:
    admission = await admit(cast.acme, cast, to=cast.alice.username, body="Open https://evil.example/13 now")
    assert admission.policy == "ask"


async def test_a_tool_that_cannot_say_what_it_knows_knows_nothing(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    assert (await admit(cast.acme, cast, "failing", to="bob")).policy == "ask"
    assert "could not say whether it knows a destination" in caplog.text
    assert (await admit(cast.acme, cast, "failing", to="Lena")).policy == "on"


@pytest.mark.parametrize("file", ["13", "7", "a1", "1.3", "2024"])
async def test_a_short_number_in_trusted_text_says_nothing(cast: Cast, file: str) -> None:
    """The user's "June 13" is not the file 13 that a page wants deleted."""
    assert (await admit(cast.acme, cast, "delete", file=file)).policy == "ask"


@pytest.mark.parametrize(("lister", "policy"), [("hotels", "ask"), ("delete", "on")])
async def test_a_list_to_choose_from_does_not_say_what_was_chosen(cast: Cast, lister: str, policy: str) -> None:
    """A page may have told the model which of the hotels to book."""
    asked = Message("assistant", tool_calls=(ToolCall("c0", lister, "{}"),))
    listed = Message("tool", "Luxury Palace, City Hub", tool_call_id="c0")
    read = ReadText.of([Message("user", "Book a hotel"), asked, listed, *READ.messages[1:]])
    assert (await admit(cast.acme, cast, "delete", read, file="Luxury Palace")).policy == policy


def test_both_belong_to_a_tool_with_destinations() -> None:
    for options in ({"destination_texts": ["text"]}, {"known_destination": is_colleague}):
        with pytest.raises(InvalidTool, match="without destinations"):
            delete.replace(destinations=(), **options)
    with pytest.raises(InvalidTool, match="none of its parameters"):
        delete.replace(destination_texts=["nothing"])
    with pytest.raises(InvalidTool, match="no sequences of names"):
        delete.replace(destination_texts="file")


async def knows_bob(name: str, context: ToolContext) -> bool:
    return await Membership.objects.filter(tenant_id=context.tenant.pk).aexists() and name == "bob"


async def test_what_a_tool_knows_may_be_async(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for known in (knows_bob, lambda *given: knows_bob(*given)):  # noqa: PLW0108 - it is not async itself
        asking = write_to.replace(known_destination=known)
        monkeypatch.setattr(catalogue, "registry", lambda asking=asking: Registry([asking]))
        for tenant in (cast.acme, cast.globex):
            assert (await admit(tenant, cast, to="bob")).policy == "on"
            assert (await admit(tenant, cast, to="evil")).policy == "ask"


@pytest.mark.parametrize("answer", [1, "yes", None, object()])
async def test_a_destination_is_known_by_a_true_alone(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    vague = write_to.replace(known_destination=lambda name, context: answer)
    monkeypatch.setattr(catalogue, "registry", lambda: Registry([vague]))
    assert (await admit(cast.acme, cast, to="bob")).policy == "ask"
    assert "write_to" in caplog.text and "known_destination" in caplog.text


async def test_a_run_asks_with_its_own_context(cast: Cast, alice_member: Member, provider: Provider) -> None:
    def plan() -> Plan:
        opened = begin(alice_member, uuid.uuid4())
        assert opened.setup is not None
        return plan_of(key=opened.key, setup=opened.setup, member=alice_member)

    toolset = (await in_db(plan)()).toolset
    calls = [ToolCall(name, "write_to", json.dumps({"to": name})) for name in (cast.alice.username, "mallory")]
    assert [one.policy for one in await toolset.admit(calls, READ)] == ["on", "ask"]


@pytest.mark.parametrize(
    ("words", "page", "policy"),
    [
        ("Send it", Page(state={"draft": {"to": "mallory@globex.example"}}), "ask"),
        ("Send it", Page("The draft:\nTo mallory@globex.example"), "ask"),
        ("Send it to mallory@globex.example", Page(state={"draft": {"to": "mallory@globex.example"}}), "on"),
    ],
)
async def test_the_page_launders_no_destination(
    cast: Cast, alice_member: Member, provider: Provider, words: str, page: Page, policy: str
) -> None:
    """What a tool wrote into the state, after a marked document was read, comes back with the next input."""

    def plan() -> Plan:
        take_turn(alice_member, thread := uuid.uuid4())
        MessageRow.objects.filter(role="assistant").update(sources=["a page"])
        again = replace(given(thread), message=TextMessage(str(uuid.uuid4()), words), page=page)
        opened = open_run(member=alice_member, assistant_slug="support", given=again, owner="here")
        assert opened.setup is not None
        return plan_of(key=opened.key, setup=opened.setup, member=alice_member)

    made = await in_db(plan)()
    asked = for_model(made.messages)[-1]
    assert "what the page says" in asked.content and "mallory@globex.example" in asked.content
    call = ToolCall("c1", "write_to", json.dumps({"to": "mallory@globex.example"}))
    (admission,) = await made.toolset.admit([call], ReadText.of(made.messages))
    assert admission.policy == policy
