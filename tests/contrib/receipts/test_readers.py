"""Rows that a mark shows and the reader may not see: none, for members, visitors, and readers of a link."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Permission, User
from django.test import Client

from assistant.contrib.shares.links import share_conversation
from assistant.core.values.events import Custom, RunStarted, TextMessageContent, TextMessageEnd, TextMessageStart
from assistant.core.values.messages import ToolCall
from assistant.models import Assistant, Conversation, Document, Run
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry, ThreadLog
from assistant.services.knowledge.documents import add_document
from assistant.services.runs.reading import stored_thread as stored_threads
from assistant.services.runs.reading.answer_details import answer_details
from assistant.services.runs.reading.stored_thread import stored_thread
from assistant.services.runs.reading.thread_snapshot import ThreadState, build_snapshot, thread_state
from assistant.services.tenancy.members import Member, find_member
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import tool
from assistant.toolkit.registry import Registry
from tests.base import Cast
from tests.contrib.end_users.minting import allow, backend, token_for, visit
from tests.contrib.shares.sharing import set_sharing
from tests.factories import make_conversation, make_run, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import serve

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]
NEEDED = "assistant.view_toolcall"
ANSWER = "Parcel 77 weighs 12.5 kg, or 13.9, and goes back within 30 days. I have cancelled it."
VALUES = ["77", "12.5 kg", "13.9", "30 days"]
# What leads to the row and the passage, or is of them and does not stand in the answer.
OF_THE_ROW = re.compile('parcels\\.example|weight_kg|(?:weigh|find)_parcel|callId|Returns|may be returned|doc-|"path"')


@tool(title="Weigh a parcel", read_only=True, enabled_by_default=True, permission=NEEDED)
def weigh_parcel(number: int) -> dict[str, Any]:
    """Weigh a parcel."""
    return {"number": number, "weight_kg": 12.5, "url": "https://parcels.example/77"}


@pytest.fixture(autouse=True)
def _tools(cast: Cast) -> Iterator[None]:
    Assistant.objects.update(extensions=["receipts"])
    set_sharing(cast.acme)
    switch_tool(cast.acme, "search_docs")
    add_document(tenant=cast.acme, title="Returns", text="Parcels may be returned within 30 days.", is_trusted=True)
    found = [one for one in catalogue.registry() if one.name == "search_docs"]
    with catalogue.using(Registry([weigh_parcel, *found])):
        yield


def permit(user: User) -> None:
    app, _, codename = NEEDED.partition(".")
    user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))


def asked_by(cast: Cast, user: User) -> Any:
    """Let a user ask, who may weigh parcels, and return the answer."""
    permit(user)
    calls = [
        ToolCall("call-1", "weigh_parcel", '{"number": 77}'),
        ToolCall("call-2", "search_docs", '{"queries": ["returned parcels"]}'),
    ]
    with answer_with(ScriptedModel([*calls, ANSWER])), ChatTester(cast.acme, user) as chat:
        return chat.ask("What of it?")


def reader(user: User) -> Member:
    member = find_member(user_id=user.pk, tenant_slug="acme", with_end_users=True)
    assert member is not None
    return member


def receipt_of(member: Member) -> dict[str, Any]:
    """Return what a member is sent of the receipt of their only answer."""
    (about,) = answer_details(member=member, thread_id=Conversation.objects.get().pk)
    found: dict[str, Any] = about["added"]["receipts"]
    return found


def titles(receipt: dict[str, Any]) -> list[str]:
    return [source["title"] for mark in receipt["marks"] for source in mark["sources"] if source["kind"] == "tool"]


def test_a_member_sees_the_row_while_they_may_use_its_tool(cast: Cast) -> None:
    asked_by(cast, cast.alice)
    shown = receipt_of(reader(cast.alice))
    assert [mark["text"] for mark in shown["marks"]] == VALUES and "Weigh a parcel" in titles(shown)
    assert OF_THE_ROW.search(json.dumps(shown))
    cast.alice.user_permissions.clear()
    shown = receipt_of(reader(User.objects.get(pk=cast.alice.pk)))
    assert [mark["text"] for mark in shown["marks"]] == VALUES
    assert not re.search("parcels\\.example|weigh_parcel|Weigh|weight_kg", json.dumps(shown))


@pytest.mark.django_db(transaction=True)
def test_a_visitor_sees_no_row_while_the_answer_comes_and_later(cast: Cast, fake_provider: FakeProvider) -> None:
    allow(cast.support)
    switch_tool(cast.acme, "find_parcel", "on")
    fake_provider.call("find_parcel", {"number": 77})
    fake_provider.call("search_docs", {"queries": ["returned parcels"]})
    fake_provider.reply(ANSWER)
    token = token_for(backend(cast), "dora")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as server:
        receipts = async_to_sync(told_to_a_visitor)(server.url, token)
    for receipt in receipts:
        assert [mark["text"] for mark in receipt["marks"]] == VALUES
        assert not OF_THE_ROW.search(json.dumps(receipt)), receipt
        assert set(titles(receipt)) == {"find parcel"}
        assert [mark.get("reason", "") for mark in receipt["marks"]] == ["", "", "not_found", ""]
        assert [action["text"] for action in receipt["actions"]] == ["cancelled"]


async def told_to_a_visitor(url: str, token: str) -> list[dict[str, Any]]:
    """Return what a visitor is told of the receipt of an answer: before its end, after it, and when they come back."""
    async with visit(url, token) as socket:
        frames = await socket.ask("What of it?", forwardedProps={"render": "html"})
        told = [frame["value"] for frame in frames if frame.get("name") == "answer.receipts"]
        (after,) = (await socket.until_custom("message.details"))["value"]["messages"]
        await socket.attach(frames[0]["threadId"], render="html")
        (later,) = (await socket.until_custom("message.details"))["value"]["messages"]
        await socket.attach(frames[0]["threadId"])
        (headless,) = added_in((await socket.until(is_snapshot))[-1]["messages"])
    return [*told, after["added"]["receipts"], later["added"]["receipts"], headless["receipts"]]


def is_snapshot(frame: dict[str, Any]) -> bool:
    return bool(frame["type"] == "MESSAGES_SNAPSHOT")


def added_in(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    added = [message.get("metadata", {}).get("added", {}) for message in messages]
    return [one for one in added if "receipts" in one]


def snapshot_of(member: Member, *, with_added: bool = True) -> list[dict[str, Any]]:
    """Return the messages of the snapshot of a member's only thread, as they are sent."""
    thread = Conversation.objects.get().pk
    stored = stored_thread(member=member, thread_id=thread, with_added=with_added)
    state = thread_state(member=member, thread_id=thread)
    if state is None:
        assert not stored.messages and not stored.added
        return []
    frames = build_snapshot(state=state, log=ThreadLog(), stored=stored).frames
    (messages,) = [json.loads(frame)["messages"] for frame in frames if "MESSAGES_SNAPSHOT" in frame]
    return list(messages)


def test_a_snapshot_for_clients_without_details_has_what_the_reader_may_see_now(cast: Cast) -> None:
    asked_by(cast, cast.alice)
    member = reader(cast.alice)
    (added,) = added_in(snapshot_of(member))
    assert added["receipts"] == receipt_of(member) and OF_THE_ROW.search(json.dumps(added))
    assert not added_in(snapshot_of(member, with_added=False)), "clients that render are sent message.details"
    # Neither a tool that they may not use any more nor a document that was deleted is shown.
    cast.alice.user_permissions.clear()
    Document.objects.all().delete()
    member = reader(User.objects.get(pk=cast.alice.pk))
    (added,) = added_in(snapshot_of(member))
    assert [mark["text"] for mark in added["receipts"]["marks"]] == VALUES
    assert not OF_THE_ROW.search(json.dumps(added)), added
    # Others have no thread, a key that reads its own runs has none of these, and off nothing is shown.
    assert not snapshot_of(reader(cast.amy))
    assert not snapshot_of(replace(member, key_id=1, scopes=frozenset({"chat"})))
    Assistant.objects.update(extensions=[])
    assert not added_in(snapshot_of(member))


def test_a_long_thread_s_snapshot_has_the_details_of_its_newest_answers(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    permit(cast.alice)
    script = [
        step
        for number in range(3)
        for step in (ToolCall(f"call-{number}", "weigh_parcel", '{"number": 77}'), "It weighs 12.5 kg.")
    ]
    with answer_with(ScriptedModel(script)), ChatTester(cast.acme, cast.alice) as chat:
        for question in ("What of it?", "Sure?", "And now?"):
            chat.ask(question)
    monkeypatch.setattr(stored_threads, "MAX_ADDED", 2)
    answers = [message for message in snapshot_of(reader(cast.alice)) if message.get("content", "").endswith(".")]
    assert [bool(message.get("metadata", {}).get("added")) for message in answers] == [False, True, True]


@pytest.mark.parametrize("may_weigh", [True, False])
def test_a_reader_of_a_link_sees_no_row_and_only_titles_of_tools_of_their_own(
    may_weigh: bool, cast: Cast, client: Client
) -> None:
    asked_by(cast, cast.alice)
    conversation = Conversation.objects.get()
    share = share_conversation(member=reader(cast.alice), conversation_id=conversation.pk)
    assert share is not None
    if may_weigh:
        permit(cast.amy)
    client.force_login(cast.amy)
    page = client.get(f"/t/acme/s/{share.pk}/").content.decode()
    (added,) = re.findall('data-added="([^"]+)"', page)
    receipt = json.loads(unescape(added))["receipts"]
    assert [mark["text"] for mark in receipt["marks"]] == VALUES
    assert not OF_THE_ROW.search(unescape(added)), receipt
    assert set(titles(receipt)) == ({"Weigh a parcel"} if may_weigh else set())
    kinds = {source["kind"] for mark in receipt["marks"] for source in mark["sources"]}
    assert kinds == {"tool" if may_weigh else "withheld", "passage"}
    # Neither another tenant's member nor the addition off shows any.
    Assistant.objects.update(extensions=[])
    assert "data-added" not in client.get(f"/t/acme/s/{share.pk}/").content.decode()
    client.force_login(cast.mallory)
    assert client.get(f"/t/acme/s/{share.pk}/").status_code == 404
    assert Run.objects.count() == 1


def test_who_attaches_between_the_receipt_and_the_end_of_the_run_is_told_of_it(cast: Cast) -> None:
    run = make_run(make_conversation(cast.alice, cast.support), status="running")
    thread = run.conversation.thread
    numbering = FrameEncoder(run_id=run.run_id, thread=thread)
    said = [
        RunStarted(thread, run.run_id),
        TextMessageStart("m", "assistant"),
        TextMessageContent("m", "12.5 kg."),
        TextMessageEnd("m"),
        Custom("answer.receipts", {"messageId": "m", "marks": [], "actions": []}),
    ]
    log = ThreadLog()
    log.append([Entry(run.number, seq, numbering.frame(event, seq)) for seq, event in enumerate(said, 1)])
    stored = stored_thread(member=reader(cast.alice), thread_id=run.conversation_id, with_added=True)
    snapshot = build_snapshot(state=ThreadState(run, None), log=log, stored=stored)
    assert snapshot.texts == [("m", "12.5 kg.")]
    (told,) = log.read(snapshot.position)
    assert json.loads(told.frame)["name"] == "answer.receipts"
