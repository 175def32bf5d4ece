"""The addresses below /v1, beside those of the REST API."""

from __future__ import annotations

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import resolve

from assistant.models import Provider
from assistant.optional_apps import paths_for_programs
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete", "options"])
def test_the_bare_prefix_has_nothing(method: str) -> None:
    assert getattr(Client(), method)("/v1").status_code == 404


def test_an_unknown_host_gets_the_apis_own_error_body(uvicorn_server: Server) -> None:
    with httpx2.Client(base_url=uvicorn_server.url, headers={"Host": "evil.example"}, timeout=20) as client:
        answer = client.get("/v1/models")
    assert (answer.status_code, answer.json()["error"]) == (
        421,
        {
            "message": "This host name is not served here.",
            "code": "invalid_host",
            "type": "invalid_request_error",
            "param": None,
        },
    )


def test_its_texts_are_for_programs() -> None:
    assert resolve("/v1/models").app_names == ["assistant"] and "/v1/" in paths_for_programs()


async def test_a_tool_that_asks_is_not_offered_where_nobody_can_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    key = await sync_to_async(key_of)(cast.acme, cast.alice)
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers={"Authorization": f"Bearer {key}"}) as http:
        body = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
    offered = {tool["function"]["name"] for tool in fake_provider.requests[-1].json["tools"]}
    assert "current_time" in offered and "ask_user" not in offered
