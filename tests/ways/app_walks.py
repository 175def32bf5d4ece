"""Walks the ways that need optional apps. Run by `test_app_ways.py`, as `walks.py` is by its own test."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from assistant.models import Provider
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.mcp.talking import headers, message
from tests.ways.counting import TRIES
from tests.ways.walks import HOOK, TOOL, Site, site, write  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db(transaction=True)


def test_switch_flipped(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.amy)
    policies = ["on", "off"] * TRIES

    def flip() -> None:
        form = {"set": f"{cast.acme.pk}::get_customer:{policies.pop()}"}
        answer = client.post("/admin/assistant/toolsetting/switchboard/acme/", form)
        assert answer.status_code == 302

    write("switch flipped", HOOK.walk(flip))


def test_mcp_call(cast: Cast, site: Site) -> None:  # noqa: F811
    switch_tool(cast.acme, TOOL)
    key = key_of(cast.acme, cast.alice, scopes=["tools"])

    def call() -> None:
        body = message("tools/call", {"name": TOOL, "arguments": {}})
        answer = site.request("POST", "/mcp/", headers(key, "tools/call", TOOL), json=body)
        assert "Europe/Vienna" in answer.text

    write("MCP call", HOOK.walk(call))


def test_widget_token(cast: Cast, site: Site) -> None:  # noqa: F811
    client = Client()
    client.force_login(cast.alice)
    cookie = {"cookie": f"sessionid={client.cookies['sessionid'].value}"}
    address = "/t/acme/widget-token/?assistant=support"
    write("widget token", HOOK.walk(lambda: site.request("GET", address, cookie)))


def test_response(cast: Cast, site: Site, provider: Provider, fake_provider: FakeProvider) -> None:  # noqa: F811
    fake_provider.rule(reply("Hello there"))
    sent = {"authorization": f"Bearer {key_of(cast.acme, cast.alice)}"}
    body: dict[str, Any] = {"model": "support", "input": "Hi", "store": True}
    write("Responses", HOOK.walk(lambda: site.request("POST", "/v1/responses", sent, json=body)))
