"""What external servers say when they refuse or end: for operators, within bounds and without keys."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from assistant.mcp_client import Command, Endpoint, RemoteFailure, connect
from assistant.mcp_client.last_words import MAX_WORDS, masked_words
from assistant.toolkit.guards.url_guard import UrlGuard
from tests.fake_provider import FakeProvider

KEY = "canary-0123456789"


async def refused(provider: FakeProvider, status: int, body: Any) -> RemoteFailure:
    """How a session with a server that refuses every request fails."""
    provider.respond(status, body)
    headers = {"Authorization": f"Bearer {KEY}"}
    endpoint = Endpoint(url=provider.url, headers=headers, guard=UrlGuard(allow_loopback=True))
    with pytest.raises(RemoteFailure) as caught:
        async with connect(endpoint):
            pass
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        (401, "unauthorized", "did not accept our credentials"),
        (403, "forbidden", "does not allow this"),
        (429, "busy", "is receiving too many requests. Try again later"),
    ],
)
async def test_a_refusal_of_the_key_is_told_from_one_of_the_request(
    fake_provider: FakeProvider, status: int, kind: str, sentence: str
) -> None:
    failure = await refused(fake_provider, status, {"error": {"message": f"The plan of {KEY} has no\n  tools."}})
    assert (failure.kind, sentence in str(failure)) == (kind, True)
    assert failure.detail == f"HTTP {status} Scripted; it said: The plan of … has no tools."
    # Why the key was refused is for the operator; what is forbidden, for who asked for it.
    assert ("plan" in str(failure)) == (kind == "forbidden")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<html><style>p{}</style><h1>Blocked</h1> by the proxy</html>", "Blocked by the proxy"),
        ({"error": "insufficient_scope", "error_description": "Needs tools:read."}, "Needs tools:read."),
        ("No. " * 10_000, "No. No. "),
    ],
)
async def test_the_servers_words_are_read_in_the_forms_that_they_come_in(
    fake_provider: FakeProvider, body: Any, said: str
) -> None:
    failure = await refused(fake_provider, 403, body)
    assert f"it said: {said}" in failure.detail and len(failure.detail) < MAX_WORDS + 60


async def test_a_refusal_without_words_has_its_status(fake_provider: FakeProvider) -> None:
    assert (await refused(fake_provider, 403, "")).detail == "HTTP 403 Scripted"


async def test_the_last_line_of_a_program_that_crashes_at_its_start_is_told() -> None:
    code = f"import sys; print('Loading'); print('x', file=sys.stderr); sys.exit('FATAL: no database, token={KEY}')"
    with pytest.raises(RemoteFailure) as caught:
        async with connect(Endpoint(command=Command(sys.executable, ("-c", code)))):
            pass
    assert "it said: FATAL: no database, …" in caught.value.detail
    assert KEY not in caught.value.detail and "FATAL" not in str(caught.value)


async def test_a_program_that_writes_its_errors_on_the_standard_output_is_told_too() -> None:
    # It reads what it is sent: if nobody can write to it any more, the SDK reads no further.
    said = f"print('Loading'); print('FATAL: no database, token={KEY}')"
    code = f"import sys; sys.stdin.readline(); {said}; sys.exit(1)"
    with pytest.raises(RemoteFailure) as caught:
        async with connect(Endpoint(command=Command(sys.executable, ("-c", code)))):
            pass
    assert "it said: FATAL: no database, …" in caught.value.detail
    assert KEY not in caught.value.detail and "FATAL" not in str(caught.value)


async def test_the_last_line_of_a_program_that_crashes_in_a_call_is_told() -> None:
    command = Command(sys.executable, ("-m", "tests.mcp.outside_app"))
    async with connect(Endpoint(command=command)) as session:
        with pytest.raises(RemoteFailure) as caught:
            await session.call("die", {})
    assert "it said: FATAL: out of cheese" in caught.value.detail


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("api_key='abcd1234' is old", "…' is old"),
        ("Bearer abcdef was refused", "… was refused"),
        ("at https://bob:pw@host/x", "at https:…host/x"),
        ("see sk-live-abcdef", "see …"),
        ("invalid tool name", "invalid tool name"),
        ("a\u202eb", "ab"),
    ],
)
def test_what_looks_like_a_key_is_masked(said: str, kept: str) -> None:
    assert masked_words(said) == kept
