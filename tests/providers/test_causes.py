"""Why a provider could not be asked: told to members as a sentence, and to operators as what it is."""

from __future__ import annotations

import asyncio
import socket

import pytest

from assistant.core.llm.protocol import ModelError
from assistant.providers import model_class
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask
from tests.providers.native.wires import WIRES


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def failure_at(url: str, fake_provider: FakeProvider, wire: str = "") -> ModelError:
    if not wire:
        outcome = (await ask(fake_provider, base_url=url))[1]
        assert isinstance(outcome, ModelError)
        return outcome
    with pytest.raises(ModelError) as failed:
        await model_class(wire)(WIRES[wire].model, base_url=url, api_key="", max_retries=0).list_models(1)
    return failed.value


@pytest.mark.parametrize("wire", ["", *WIRES])
async def test_a_server_that_is_not_there_cannot_be_reached(fake_provider: FakeProvider, wire: str) -> None:
    error = await failure_at(f"http://127.0.0.1:{closed_port()}/v1", fake_provider, wire)
    assert (str(error), error.kind) == ("The provider cannot be reached. Try again later.", "down")
    assert error.details is not None and "refuses connections" in error.details.message


async def test_a_name_without_an_address_is_told_as_that(fake_provider: FakeProvider) -> None:
    error = await failure_at("https://nothing.invalid/v1", fake_provider)
    assert "cannot be reached" in str(error) and "DNS" in str(error.details)


async def test_a_server_without_tls_is_told_as_that(fake_provider: FakeProvider) -> None:
    async def speaks_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(speaks_plainly, "127.0.0.1", 0) as server:
        error = await failure_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", fake_provider)
    assert "cannot be reached" in str(error) and "no TLS connection" in str(error.details)


async def test_a_page_of_a_proxy_is_told_by_its_title(fake_provider: FakeProvider) -> None:
    fake_provider.respond(502, "<html><head><title>502 Bad\n Gateway</title></head><body>nginx</body></html>")
    error = (await ask(fake_provider))[1]
    assert isinstance(error, ModelError) and error.details is not None
    assert error.details.message == "a web page: 502 Bad Gateway"


async def test_a_refused_account_is_told_from_a_refused_key(fake_provider: FakeProvider) -> None:
    fake_provider.respond(401, {"error": {"message": "No."}})
    fake_provider.respond(403, {"error": {"message": "No."}})
    said = [str((await ask(fake_provider))[1]) for _ in range(2)]
    assert said[0] == "The provider refused the key."
    assert "does not allow this account" in said[1]
