"""A POST with an Idempotency-Key that is sent again does nothing twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx2
import pytest
from django.test import RequestFactory
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from assistant.api.base import idempotent
from assistant.api.conversations import Conversations
from assistant.models import Conversation, IdempotentAnswer
from tests.api.calling import Caller, key_of
from tests.base import Cast
from tests.live import Server
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db
BODY = {"assistant": "support", "title": "Once"}


def test_the_same_key_and_body_get_the_same_answer(alice_calls: Caller) -> None:
    first = alice_calls("post", "conversations/", BODY, Idempotency_Key="k")
    again = alice_calls("post", "conversations/", dict(reversed(BODY.items())), Idempotency_Key="k")
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again["Idempotent-Replayed"] == "true"
    assert Conversation.objects.count() == 1


def test_the_same_key_with_another_body_is_a_conflict(alice_calls: Caller) -> None:
    alice_calls("post", "conversations/", BODY, Idempotency_Key="k")
    answer = alice_calls("post", "conversations/", {**BODY, "title": "Twice"}, Idempotency_Key="k")
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")
    assert Conversation.objects.count() == 1


def test_while_the_first_is_answered_the_second_is_a_conflict(cast: Cast, alice_calls: Caller) -> None:
    alice_calls("post", "conversations/", BODY, Idempotency_Key="k")
    IdempotentAnswer.objects.update(status=None)
    assert alice_calls("post", "conversations/", BODY, Idempotency_Key="k").status_code == 409


def test_keys_are_separate_for_each_member(alice_calls: Caller, amy_calls: Caller, mallory_calls: Caller) -> None:
    made = {
        caller("post", "conversations/", BODY, Idempotency_Key="k").json()["id"]
        for caller in (alice_calls, amy_calls, mallory_calls)
    }
    assert len(made) == 3


def test_after_an_error_the_key_is_free(alice_calls: Caller) -> None:
    refused = alice_calls("post", "conversations/", {"assistant": "nobody"}, Idempotency_Key="k")
    assert refused.status_code == 400
    assert alice_calls("post", "conversations/", BODY, Idempotency_Key="k").status_code == 201


def test_a_key_is_forgotten_after_a_day(alice_calls: Caller) -> None:
    alice_calls("post", "conversations/", BODY, Idempotency_Key="k")
    IdempotentAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    answer = alice_calls("post", "conversations/", {**BODY, "title": "Later"}, Idempotency_Key="k")
    assert answer.json()["title"] == "Later"


@pytest.mark.parametrize("key", ["", "with space", "x" * 256])
def test_an_invalid_key_is_refused(alice_calls: Caller, key: str) -> None:
    answer = alice_calls("post", "conversations/", BODY, Idempotency_Key=key)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["Idempotency-Key"])


class Dies(Conversations):
    """Kills the process after the conversation is created and before the response."""

    @idempotent
    def post(self, request: Request) -> Response:
        Conversations.post.__wrapped__(self, request)
        raise SystemExit


def test_a_killed_process_leaves_all_or_nothing(cast: Cast, alice_calls: Caller) -> None:
    headers = {"Authorization": f"Bearer {alice_calls.key}", "Idempotency-Key": "k"}
    request = RequestFactory().post(
        f"{alice_calls.base}conversations/", BODY, content_type="application/json", headers=headers
    )
    with pytest.raises(SystemExit):
        Dies.as_view()(request, tenant="acme")
    assert not Conversation.objects.exists() and not IdempotentAnswer.objects.exists()


def test_an_abandoned_request_is_processed_again(alice_calls: Caller) -> None:
    alice_calls("post", "conversations/", BODY, Idempotency_Key="k")
    IdempotentAnswer.objects.update(status=None, created_at=timezone.now() - timedelta(seconds=61))
    assert alice_calls("post", "conversations/", BODY, Idempotency_Key="k").status_code == 201


@pytest.mark.django_db(transaction=True)
async def test_simultaneous_requests_all_get_the_same_answer(uvicorn_server: Server, cast: Cast) -> None:
    key = await in_db(key_of)(cast.acme, cast.alice)
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "k"}
    base = f"{uvicorn_server.url}/api/v1/tenants/acme/"
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=30) as client:
        answers = await asyncio.gather(*(client.post("conversations/", json=BODY) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == await in_db(Conversation.objects.count)() == 1
