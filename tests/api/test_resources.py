"""The REST API's resources work for their owner and are not found for anyone else."""

from __future__ import annotations

import re
import uuid

import pytest
from django.test import Client
from pytest_django import Settings

from assistant.models import Conversation, Feedback, UsageEntry
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_assistant, make_conversation, make_message, make_run, switch_tool

pytestmark = pytest.mark.django_db

TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)")


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    return make_conversation(cast.alice, cast.support, title="Refund")


def test_assistants_are_the_tenants_active_ones(cast: Cast, alice_calls: Caller) -> None:
    make_assistant(cast.acme, "retired", is_active=False)
    answer = alice_calls.get("assistants/")
    assert [one["slug"] for one in answer.json()] == ["support"]
    assert alice_calls.get("assistants/support/").json()["name"] == "Support"
    assert alice_calls.get("assistants/retired/").status_code == 404


def test_the_tools_name_the_rule_that_decided(cast: Cast, alice_calls: Caller) -> None:
    switch_tool(cast.acme, "get_customer", "off")
    tools = {one["name"]: one for one in alice_calls.get("assistants/support/tools/").json()}
    assert tools["get_customer"]["policy"] == "off"
    assert tools["get_customer"]["rule"] == "Switched off for the tenant."


def test_a_conversation_is_created_renamed_archived_and_deleted(alice_calls: Caller) -> None:
    made = alice_calls("post", "conversations/", {"assistant": "support", "title": "Umbrella"})
    assert made.status_code == 201
    address = f"conversations/{made.json()['id']}/"
    changed = alice_calls("patch", address, {"title": "Umbrellas", "is_archived": True}).json()
    assert (changed["title"], changed["is_archived"]) == ("Umbrellas", True)
    assert alice_calls.get("conversations/").json()["results"] == []
    assert [one["id"] for one in alice_calls.get("conversations/", archived="true").json()["results"]] == [
        changed["id"]
    ]
    assert alice_calls("delete", address).status_code == 204
    assert alice_calls.get(address).status_code == 404


def test_the_id_of_another_users_conversation_is_as_any_that_nobody_has(
    talk: Conversation, cast: Cast, mallory_calls: Caller
) -> None:
    make_message(talk, content="The password is sesame.")
    make_assistant(cast.globex, "sales")
    seen = []
    for thread in (str(talk.pk), str(uuid.uuid4())):
        address = f"conversations/{thread}/"
        told = [
            mallory_calls.get(address),
            mallory_calls("post", "conversations/", {"assistant": "support", "id": thread, "title": "Mine"}),
            mallory_calls("post", "conversations/", {"assistant": "support", "id": thread}),
            mallory_calls("post", "conversations/", {"assistant": "sales", "id": thread}),
            mallory_calls.get(address),
            mallory_calls("patch", address, {"title": "Still mine"}),
            mallory_calls.get(f"{address}messages/"),
            mallory_calls.get("conversations/"),
            mallory_calls("delete", address),
            mallory_calls.get(address),
        ]
        assert told[4].json()["id"] == thread
        texts = [TIMES.sub("now", one.content.decode()).replace(thread, "T") for one in told]
        seen.append([(one.status_code, text) for one, text in zip(told, texts, strict=True)])
    assert seen[0] == seen[1] and [status for status, _ in seen[0]] == [
        404, 201, 409, 409, 200, 200, 200, 200, 204, 404,
    ]  # fmt: skip
    assert "sesame" not in str(seen) and Conversation.objects.get(pk=talk.pk).title == "Refund"


def test_pages_of_conversations_neither_overlap_nor_skip(cast: Cast, alice_calls: Caller) -> None:
    made = [str(make_conversation(cast.alice, cast.support).pk) for _ in range(5)]
    seen, cursor = [], ""
    while cursor is not None:
        page = alice_calls.get("conversations/", limit=2, cursor=cursor).json()
        seen += [one["id"] for one in page["results"]]
        cursor = page["next"]
        make_conversation(cast.alice, cast.support)
    assert seen == made[::-1]


def test_conversations_are_searched(cast: Cast, talk: Conversation, alice_calls: Caller) -> None:
    make_message(make_conversation(cast.alice, cast.support), content="About a parcel")
    assert [one["title"] for one in alice_calls.get("conversations/", q="refund").json()["results"]] == ["Refund"]
    assert len(alice_calls.get("conversations/", q="parcel").json()["results"]) == 1
    assert alice_calls.get("conversations/", assistant="other").json()["results"] == []


def test_messages_are_paged_with_the_members_own_feedback(cast: Cast, talk: Conversation, alice_calls: Caller) -> None:
    for number in range(3):
        make_message(talk, "assistant", f"Answer {number}", message_id=f"m-{number}")
    feedback = f"conversations/{talk.pk}/messages/m-1/feedback/"
    assert alice_calls("put", feedback, {"rating": -1, "comment": "No."}).json() == {"rating": -1, "comment": "No."}
    first = alice_calls.get(f"conversations/{talk.pk}/messages/", limit=2).json()
    assert [one["content"] for one in first["results"]] == ["Answer 0", "Answer 1"]
    assert [one["feedback"] for one in first["results"]] == [None, {"rating": -1, "comment": "No."}]
    rest = alice_calls.get(f"conversations/{talk.pk}/messages/", cursor=first["next"]).json()
    assert ([one["id"] for one in rest["results"]], rest["next"]) == (["m-2"], None)
    assert alice_calls("delete", feedback).status_code == 204
    assert not Feedback.objects.exists()


def test_an_invalid_choice_is_answered_with_the_valid_ones(talk: Conversation, alice_calls: Caller) -> None:
    rated = alice_calls("put", f"conversations/{talk.pk}/messages/m/feedback/", {"rating": "up"})
    assert (rated.status_code, rated.json()["fields"]) == (400, {"rating": ['"up" is not one of -1, 1.']})


def test_only_answers_are_rated(talk: Conversation, alice_calls: Caller) -> None:
    make_message(talk, "user", "Hi", message_id="mine")
    assert alice_calls("put", f"conversations/{talk.pk}/messages/mine/feedback/", {"rating": 1}).status_code == 404


def test_usage_is_the_members_or_for_admins_the_tenants(
    cast: Cast, talk: Conversation, alice_calls: Caller, amy_calls: Caller
) -> None:
    run = make_run(talk)
    UsageEntry.objects.create(
        tenant=cast.acme, user=cast.alice, run=run, assistant=cast.support, model="m", input_tokens=7, output_tokens=2
    )
    (line,) = alice_calls.get("usage/", by="model").json()["results"]
    assert (line["name"], line["runs"], line["input_tokens"], line["output_tokens"]) == ("m", 1, 7, 2)
    assert len(alice_calls.get("usage/").json()["results"]) == 1
    assert amy_calls.get("usage/").json()["results"] == []
    assert amy_calls.get("usage/", whose="tenant", by="assistant").json()["results"][0]["name"] == "support"
    assert alice_calls.get("usage/", whose="tenant").status_code == 403


def test_nothing_of_another_member_or_tenant_is_found(
    cast: Cast, talk: Conversation, amy_calls: Caller, mallory_calls: Caller
) -> None:
    make_message(talk, "assistant", "Hi", message_id="m")
    own = f"conversations/{talk.pk}/"
    for caller in (amy_calls, mallory_calls):
        for path in (own, f"{own}messages/", f"{own}export/"):
            assert caller.get(path).status_code == 404
        assert caller("patch", own, {"title": "Mine"}).status_code == 404
        assert caller("delete", own).status_code == 404
        assert caller("put", f"{own}messages/m/feedback/", {"rating": 1}).status_code == 404
        assert caller.get("conversations/").json()["results"] == []


def test_another_tenant_looks_like_one_that_does_not_exist(mallory_calls: Caller) -> None:
    foreign = mallory_calls.get("/api/v1/tenants/acme/assistants/")
    absent = mallory_calls.get("/api/v1/tenants/nobody/assistants/")
    assert (foreign.status_code, foreign.content) == (404, absent.content)


def test_a_missing_and_a_bad_key_get_the_same_answer(cast: Cast) -> None:
    for headers in ({}, {"Authorization": "Bearer ta_wrong"}):
        answer = Client().get("/api/v1/tenants/acme/assistants/", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        ("read", "get", "conversations/"),
        ("read", "get", "usage/"),
        ("tools", "get", "assistants/support/tools/"),
        ("chat", "post", "conversations/"),
    ],
)
def test_a_key_needs_its_scope(cast: Cast, scope: str, method: str, path: str) -> None:
    others = [name for name in ("chat", "read", "tools") if name != scope]
    answer = Caller(cast.acme, cast.alice, scopes=others)(method, path)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert Caller(cast.acme, cast.alice, scopes=[scope])(method, path).status_code != 403


def test_a_session_reads_and_needs_its_csrf_token_to_write(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    assert client.get("/api/v1/tenants/acme/conversations/").status_code == 200
    body = {"assistant": "support"}
    address = "/api/v1/tenants/acme/conversations/"
    assert client.post(address, body, content_type="application/json").status_code == 403
    client.get("/t/acme/")
    token = client.cookies["csrftoken"].value
    sent = client.post(address, body, content_type="application/json", headers={"X-CSRFToken": token})
    assert sent.status_code == 201


def test_an_unknown_url_is_answered_in_json(alice_calls: Caller) -> None:
    for path in ("/api/v1/nothing/", "conversations/no-uuid/", f"conversations/{uuid.uuid4()}/x/"):
        answer = alice_calls.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("end", ["", "//"])
def test_a_missing_or_an_extra_final_slash_is_answered_and_not_redirected(
    alice_calls: Caller, settings: Settings, end: str, debug: bool
) -> None:
    settings.DEBUG = debug
    answer = alice_calls.get(f"/api/v1/tenants/acme/assistants{end}")
    assert (answer.status_code, answer.json()) == (200, alice_calls.get("/api/v1/tenants/acme/assistants/").json())
    assert alice_calls("post", f"/api/v1/tenants/acme/conversations{end}", {"assistant": "support"}).status_code == 201


@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete", "options"])
def test_an_address_that_is_not_there_is_not_redirected_either(method: str) -> None:
    for path in ("/api/v1/tenants/acme/nowhere", "/api"):
        assert getattr(Client(), method)(path, content_type="application/json").status_code == 404


def test_a_method_that_does_not_exist_is_named(alice_calls: Caller) -> None:
    answer = alice_calls("put", "conversations/", {})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
