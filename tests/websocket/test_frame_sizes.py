"""Frames that are too large: what closes the connection, and what a server without a bound says about itself."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from assistant.core.values.frame_sizes import MAX_FRAME, MAX_SERVER_FRAME
from tests.base import Cast
from tests.live import Server, serve
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)

ADVICE = f"Start uvicorn with --ws-max-size {MAX_SERVER_FRAME}"


def ping_of(size: int) -> str:
    """A frame of exactly so many bytes."""
    empty = len(json.dumps({"type": "ping", "pad": ""}))
    return json.dumps({"type": "ping", "pad": "x" * (size - empty)})


async def test_the_largest_frame_that_is_accepted(server: Server, cast: Cast) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.send(ping_of(MAX_FRAME))
        await socket.until_custom("pong")
        for size in (MAX_FRAME + 1, MAX_SERVER_FRAME):
            await socket.send(ping_of(size))
            assert (await socket.until_custom("protocol_error"))["value"]["code"] == "frame_too_large"


@pytest.mark.parametrize("size", [MAX_SERVER_FRAME + 1, 15 * 1024 * 1024])
async def test_a_larger_one_closes_the_connection(uvicorn_server: Server, cast: Cast, size: int) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        with suppress(ConnectionClosed):  # the server does not wait for the end of a frame
            await socket.send(ping_of(size))
        assert await socket.closed() == 1009


async def test_fragments_count_together(uvicorn_server: Server, cast: Cast) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        with suppress(ConnectionClosed):
            await socket.send_fragments(["x" * (MAX_FRAME // 2)] * 3)
        assert await socket.closed() == 1009


@pytest.mark.parametrize("option", ["16777216", str(MAX_SERVER_FRAME + 1)])
def test_a_server_without_the_bound_says_so_at_its_start(cast: Cast, option: str) -> None:
    with serve(options=("--ws-max-size", option)) as server:
        assert f"frames of up to {option} bytes" in server.log
        assert ADVICE in server.log


def test_a_server_with_the_bound_says_nothing(cast: Cast) -> None:
    with serve() as server:
        assert "--ws-max-size" not in server.log


async def test_a_server_that_does_not_tell_its_bound_is_noticed_by_the_first_large_frame(cast: Cast) -> None:
    with serve(options=("--lifespan", "off", "--ws-max-size", "16777216")) as server:
        for _ in range(2):
            async with open_socket(server.url, user=cast.alice) as socket:
                await socket.send(ping_of(MAX_SERVER_FRAME + 1))
                assert await socket.closed() == 1009
        assert server.log.count(ADVICE) == 1
