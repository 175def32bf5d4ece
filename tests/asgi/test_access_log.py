"""Request ids and structured logs: given, made, carried everywhere, and nothing in them that was said."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from assistant.asgi.access_log import with_request_id
from assistant.models import Provider, Run
from assistant.services.tenancy.members import create_api_key, member_by_key
from assistant.toolkit.logs import ContextFilter, JsonLines, Request, begin_request, end_request
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)

SCOPE = {"type": "http", "method": "GET", "path": "/t/acme/", "query_string": b"q=canary", "headers": []}


async def application(scope: Any, receive: Any, send: Any) -> None:
    logging.getLogger("elsewhere").warning("Something happened")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Request-ID", b"forged")]})
    await send({"type": "http.response.body", "body": b""})


async def answer(path: str = "/t/acme/", *headers: tuple[bytes, bytes]) -> list[bytes]:
    """The request ids of an answer."""
    scope = {**SCOPE, "path": path, "headers": list(headers)}
    talk = ApplicationCommunicator(with_request_id(application), scope)
    start = await talk.receive_output()
    await talk.receive_output()
    await talk.wait()
    return [value for name, value in start["headers"] if name.lower() == b"x-request-id"]


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What the log says in JSON, so far."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(ContextFilter())
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    level, root.level = root.level, logging.INFO
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


async def test_every_answer_has_one_id_made_here() -> None:
    (first,), (second,) = await answer(), await answer()
    assert re.fullmatch(rb"[0-9a-f]{32}", first)
    assert first != second


@pytest.mark.parametrize("given", [b"a" * 8, b"trace-1234:5678_x.y"])
async def test_a_good_id_is_kept(given: bytes) -> None:
    assert await answer("/", (b"X-Request-Id", given)) == [given]


@pytest.mark.parametrize("given", [b"", b"short", b"a" * 65, b"line\nbreak-here", b'{"json": "x"}', "ünïcödé".encode()])
async def test_a_bad_id_is_replaced(given: bytes) -> None:
    (found,) = await answer("/", (b"x-request-id", given))
    assert re.fullmatch(rb"[0-9a-f]{32}", found)


async def test_the_access_log_has_the_path_alone(lines: Any) -> None:
    await answer("/t/acme/\nERROR forged", (b"x-request-id", b"request-1"))
    other, access = lines()
    assert (other["logger"], other["request"]) == ("elsewhere", "request-1")
    assert access["message"] == "GET /t/acme/%0AERROR%20forged 200"
    assert (access["status"], access["method"], access["request"]) == (200, "GET", "request-1")
    assert "canary" not in json.dumps(access)


async def test_probes_are_not_logged(lines: Any) -> None:
    await answer("/healthz")
    assert [line["logger"] for line in lines()] == ["elsewhere"]


def test_foreign_fields_of_a_record_are_not_written(lines: Any) -> None:
    token = begin_request(Request("request-2", "acme"))
    extra = {"request": "<WSGIRequest canary>", "params": "canary", "tenant_secret": "canary"}
    logging.getLogger("django.request").error("Failed", extra=extra)
    end_request(token)
    (line,) = lines()
    assert "canary" not in json.dumps(line)
    assert (line["tenant"], line["request"], line["level"]) == ("acme", "request-2", "ERROR")


def test_an_exception_stays_on_its_line(lines: Any) -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("x").exception("Failed")
    (line,) = lines()
    assert "ValueError: two\nlines" in line["exception"]


async def test_a_socket_s_id_goes_into_its_runs_and_to_the_provider(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    with serve(env={"LOG_FORMAT": "json"}) as server:
        headers = {"X-Request-ID": "socket-0001"}
        async with open_socket(server.url, user=cast.alice, headers=headers) as socket:
            assert socket.headers["X-Request-ID"] == "socket-0001"
            await socket.ask("canary-question")
        assert fake_provider.requests[-1].headers["x-client-request-id"] == "socket-0001"
        server.stop()
        told = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    run = await Run.objects.aget()
    (ended,) = [line for line in told if line["message"] == "Run ended: finished"]
    assert (ended["tenant"], ended["run"], ended["request"]) == ("acme", run.run_id, "socket-0001")
    assert ended["output_tokens"] == run.output_tokens > 0
    (access,) = [
        line for line in told if line["logger"] == "assistant.asgi.access_log" and line["method"] == "WEBSOCKET"
    ]
    assert (access["tenant"], access["status"], access["request"]) == ("acme", 101, "socket-0001")
    assert "canary" not in json.dumps(told)


def test_a_key_names_the_tenant_of_its_request(cast: Cast, lines: Any) -> None:
    _, key = create_api_key(tenant=cast.acme, user=cast.alice, name="k")
    token = begin_request(Request("request-3"))
    assert member_by_key(key=key)
    logging.getLogger("x").warning("Here")
    end_request(token)
    assert lines()[-1]["tenant"] == "acme"
    assert key not in json.dumps(lines())
