"""Cassettes: a provider is asked once and replayed piece by piece; no secret is stored, nothing else is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assistant.client import ChatClient, RunFailed
from assistant.testing import Cassette, CassetteError
from assistant.toolkit import tool
from tests.fake_provider import FakeProvider

KEY = "very-private-word-of-a-gateway"


@tool
def look(word: str) -> str:
    """Look something up."""
    return f"{word}: found"


def read(path: Path) -> list[dict[str, Any]]:
    exchanges: list[dict[str, Any]] = json.loads(path.read_text())["exchanges"]
    return exchanges


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassettes/owls.json"


async def ask(cassette: Cassette, text: str = "What are owls?", **options: Any) -> str:
    reply = await ChatClient(model=cassette.model("m", **options), tools=[look]).call(text)
    return reply.text


async def record(provider: FakeProvider, path: Path, text: str = "What are owls?", **options: Any) -> str:
    with Cassette(path, record=True, **options) as cassette:
        return await ask(cassette, text, base_url=provider.url, api_key=KEY)


async def test_a_recorded_turn_is_replayed_without_the_provider(fake_provider: FakeProvider, path: Path) -> None:
    fake_provider.call("look", {"word": "owls"})
    fake_provider.reply("Owls are birds.")
    assert await record(fake_provider, path) == "Owls are birds."
    with Cassette(path, record=False) as cassette:
        assert await ask(cassette) == "Owls are birds."
    assert len(fake_provider.requests) == 2


async def test_a_stream_comes_in_the_pieces_in_which_it_was_recorded(fake_provider: FakeProvider, path: Path) -> None:
    first, second = b'data: {"choices":[{"index":0,"delta":{"content":"caf\xc3', b'\xa9"},"finish_reason":"stop"}]}\n\n'
    fake_provider.raw(first, 0.1, second, b"data: [DONE]\n\n")
    assert await record(fake_provider, path) == "café"
    (exchange,) = read(path)
    with Cassette(path, record=False) as cassette:
        body = exchange["request"]["body"]
        async with cassette.http_client.stream("POST", "http://nowhere/v1/chat/completions", json=body) as response:
            pieces = [piece async for piece in response.aiter_raw()]
    # Half a character each, so that neither is a text.
    assert pieces[0] == first and b"".join(pieces[1:]) == second + b"data: [DONE]\n\n"


async def test_no_secret_is_stored(fake_provider: FakeProvider, path: Path) -> None:
    fake_provider.respond(401, {"error": {"message": f"Incorrect key {KEY}", "code": "invalid_api_key"}})
    with Cassette(path, record=True) as cassette:
        model = cassette.model("m", base_url=fake_provider.url, api_key=KEY)
        client = ChatClient(model=model, options={"user": "Bearer abcdefgh12345", "metadata": {"api_key": "xyz"}})
        with pytest.raises(RunFailed):
            await client.call("My key is sk-proj-0123456789abcdefghij")
        await cassette.http_client.get(
            f"{fake_provider.url}/models?key=abc&page=2", headers={"X-Gateway-Auth": "zzz-1"}
        )
    text = path.read_text()
    for secret in (KEY, "sk-proj", "abcdefgh12345", "xyz", "zzz-1", "key=abc"):
        assert secret not in text
    assert '"api_key": "***"' in text and "/v1/models?key=***&page=2" in text and "My key is ***" in text
    assert set(read(path)[0]["request"]["headers"]) == {"content-type"}
    assert fake_provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_password_in_the_providers_address_is_not_stored(fake_provider: FakeProvider, path: Path) -> None:
    with Cassette(path, record=True) as cassette:
        await ask(cassette, base_url=fake_provider.url.replace("//", "//user:pass@"))
    assert "pass" not in path.read_text() and json.loads(path.read_text())["server"] == fake_provider.url


async def test_a_request_that_was_not_recorded_names_the_difference(fake_provider: FakeProvider, path: Path) -> None:
    await record(fake_provider, path)
    with pytest.raises(CassetteError) as refused, Cassette(path, record=False) as cassette:
        await ask(cassette, "What are bats?")
    assert 'body.messages.0.content: recorded "What are owls?", sent "What are bats?"' in str(refused.value)
    assert isinstance(refused.value.__cause__, RunFailed)
    assert len(fake_provider.requests) == 1


async def test_a_recording_is_used_once(fake_provider: FakeProvider, path: Path) -> None:
    await record(fake_provider, path)
    with pytest.raises(CassetteError, match="have been used"), Cassette(path, record=False) as cassette:
        assert await ask(cassette) == "You said: What are owls?"
        await ask(cassette)


async def test_what_differs_from_run_to_run_can_be_taken_out(fake_provider: FakeProvider, path: Path) -> None:
    def without_number(body: Any) -> Any:
        return {
            **body,
            "messages": [{**one, "content": one["content"].rstrip("0123456789")} for one in body["messages"]],
        }

    await record(fake_provider, path, "Number 17", clean=without_number)
    with Cassette(path, record=False, clean=without_number) as cassette:
        assert await ask(cassette, "Number 18") == "You said: Number 17"
    assert "17" not in read(path)[0]["request"]["body"]["messages"][0]["content"]


async def test_nothing_is_written_if_the_block_fails(fake_provider: FakeProvider, path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Cassette(path, record=True) as cassette:
        await ask(cassette, base_url=fake_provider.url)
        raise ZeroDivisionError
    assert not path.exists()


@pytest.mark.parametrize("variable", ["1", "true"])
def test_the_variable_turns_recording_on(variable: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CassetteError, match="RECORD_CASSETTES=1"):
        Cassette(path)
    monkeypatch.setenv("RECORD_CASSETTES", variable)
    assert Cassette(path).is_recording


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1, "server": "", "exchanges": [{}]}'])
def test_another_file_is_no_cassette(text: str, path: Path) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(CassetteError, match="is not a cassette"):
        Cassette(path, record=False)


def test_a_cassette_of_another_version_is_recorded_again(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"version": 2}')
    with pytest.raises(CassetteError, match="Record it again"):
        Cassette(path, record=False)
