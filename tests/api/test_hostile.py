"""Hostile bodies and queries are refused with 400, and nothing of them reaches the database."""

from __future__ import annotations

import httpx2
import pytest

from assistant.models import Conversation
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_conversation
from tests.live import Server

pytestmark = pytest.mark.django_db

HOSTILE = {
    "no JSON": b"{",
    "no object": b"[]",
    "deep": b'{"assistant": ' + b"[" * 60_000 + b"]" * 60_000 + b"}",
    "many digits": b'{"assistant": "support", "x": ' + b"9" * 10_000 + b"}",
    "more than 64 bits": b'{"assistant": "support", "x": 99999999999999999999}',
    "infinite": b'{"assistant": "support", "x": 1e999}',
    "NaN": b'{"assistant": "support", "x": NaN}',
    "NUL": b'{"assistant": "support", "title": "a\\u0000b"}',
    "NUL in a name": b'{"assistant": "support", "a\\u0000b": 1}',
    "lone surrogate": b'{"assistant": "support", "title": "\\ud800"}',
    "bad UTF-8": b'{"assistant": "support", "title": "\xff"}',
    "another type": b'{"assistant": "support", "title": 5}',
    "null": b'{"assistant": null}',
    "nothing": b"",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("method", ["post", "patch"])
def test_a_hostile_body_is_a_400(cast: Cast, alice_calls: Caller, method: str, body: bytes) -> None:
    talk = make_conversation(cast.alice, cast.support, title="As it was")
    answer = alice_calls(method, "conversations/" if method == "post" else f"conversations/{talk.pk}/", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert [one.title for one in Conversation.objects.all()] == ["As it was"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("deep", "The body is nested too deeply."),
        ("many digits", "The body holds a number beyond 64 bits."),
        ("more than 64 bits", "The body holds a number beyond 64 bits."),
        ("infinite", "The body holds a number beyond 64 bits."),
        ("NaN", "The body is not valid JSON in UTF-8."),
        ("bad UTF-8", "The body is not valid JSON in UTF-8."),
    ],
)
def test_the_message_names_the_reason(alice_calls: Caller, name: str, sentence: str) -> None:
    assert alice_calls("post", "conversations/", HOSTILE[name]).json()["message"] == sentence


def test_a_body_that_is_too_large_is_a_413(alice_calls: Caller) -> None:
    body = {"assistant": "support", "title": "x" * 300_000}
    assert alice_calls("post", "conversations/", body).status_code == 413


@pytest.mark.parametrize(
    "query",
    [{"cursor": "%"}, {"cursor": "MTd8MTc"}, {"cursor": "\x00"}, {"limit": "9" * 500}, {"limit": "0"}, {"q": "\x00"}],
    ids=str,
)
def test_a_hostile_query_is_a_400(alice_calls: Caller, query: dict[str, str]) -> None:
    answer = alice_calls.get("conversations/", **query)
    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == list(query)


@pytest.mark.parametrize("path", ["runs/%00/", "runs/%ff/", "conversations/x%00/", "usage/?since=0000-00-00"])
def test_a_hostile_address_is_no_server_error(alice_calls: Caller, path: str) -> None:
    assert alice_calls.get(path).status_code in {400, 404}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("host", ["evil.example", "a b", "[", "127.0.0.1:x"])
def test_an_unknown_host_gets_the_apis_own_error_body(uvicorn_server: Server, host: str) -> None:
    said = {"message": "This host name is not served here.", "code": "invalid_host"}
    with httpx2.Client(base_url=uvicorn_server.url, headers={"Host": host}, timeout=20) as client:
        rest = client.get("/api/v1/tenants/acme/conversations/")
        assert (rest.status_code, rest.json()) == (421, {**said, "fields": {}})
        assert client.get("/").headers["Content-Type"].startswith("text/html")
        assert client.get("/healthz").status_code == 200


def test_another_type_of_body_is_a_415(cast: Cast, alice_calls: Caller) -> None:
    answer = alice_calls._client.post(f"{alice_calls.base}conversations/", "a=b", content_type="text/plain")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
