"""An external server's tool that the provider refuses costs no run, and operators are told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from assistant.contrib.mcp_servers.models import McpServer
from assistant.core.values.wire_formats import CHAT_COMPLETIONS
from assistant.models import Provider
from assistant.providers.tool_adaptation.refused_tools import RefusedTool
from assistant.services.assistants.provider_choice import choice_of
from assistant.services.assistants.refused_tools import MAX_REFUSED, store_refused_tool
from tests.agui import text_of
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import add_server, allow, look
from tests.contrib.panel.conftest import signed_in
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.mcp.outside import Outside, outside
from tests.providers.tools.strict_servers import StrictServer
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = {"type": "string"}
EITHER = [{"required": ["title"]}, {"required": ["text"]}]
UPDATE = {"type": "object", "properties": {"title": TEXT, "text": TEXT}, "anyOf": EITHER}
POISONED = {"type": "object", "properties": {"poison": TEXT}}
CERTAIN = RefusedTool("crm__bad", "d" * 32, "status 400: no <b>such</b> schema", True)


@pytest.fixture(scope="module")
def raw_process() -> Iterator[Outside]:
    with outside(app="tests.mcp.raw_app:app") as server:
        server.be(
            pages=[{"tools": [{"name": "update", "inputSchema": UPDATE}, {"name": "bad", "inputSchema": POISONED}]}]
        )
        yield server


async def test_a_refused_tool_costs_no_run_and_is_remembered(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, raw_process: Outside, settings: Settings
) -> None:
    settings.DEBUG = True
    server = await add_server(cast.acme, raw_process)
    await look(server)
    await allow(server, "update", "bad")
    strict = StrictServer(CHAT_COMPLETIONS, "poison", lambda place, name: f"Invalid schema for function '{name}': no.")
    fake_provider.rule(strict)
    for _ in range(2):  # in processes of their own, which share what the row remembers
        with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_debug"}) as site:
            async with open_socket(site.url, user=cast.alice) as socket:
                assert text_of(await socket.ask("Update it")) == "Fine."
    assert len(strict.refused) == 1
    assert "crm__update" in strict.offered and "crm__bad" not in strict.offered
    await provider.arefresh_from_db()
    assert [(one["tool"], one["certain"]) for one in provider.refused_tools.values()] == [("crm__bad", True)]


def test_operators_see_what_a_provider_refused_and_offer_it_again(cast: Cast, provider: Provider) -> None:
    store_refused_tool(provider_id=provider.pk, tenant_id=None, refused=CERTAIN)
    page = f"/admin/assistant/provider/{provider.pk}/change/"
    root = signed_in(cast.root)
    shown = root.get(page).content.decode()
    assert "<strong>crm__bad</strong> (not offered): status 400: no &lt;b&gt;such" in shown
    form = {"name": provider.name, "base_url": provider.base_url, "default_model": "m", "offer_again": "on"}
    answer = root.post(page, {**form, "tenant": provider.tenant_id or "", "extra_body": "{}", "prices": "{}"})
    assert answer.status_code == 302, answer.content.decode()[:2000]
    provider.refresh_from_db()
    assert provider.refused_tools == {}


def test_what_was_not_found_for_certain_is_offered_again(cast: Cast, provider: Provider) -> None:
    store_refused_tool(provider_id=provider.pk, tenant_id=None, refused=CERTAIN)
    store_refused_tool(provider_id=provider.pk, tenant_id=None, refused=RefusedTool("crm__some", "e" * 32, "no", False))
    provider.refresh_from_db()
    chosen = choice_of("tenant", provider, cast.support, model="")
    assert (len(provider.refused_tools), chosen.refused_tools) == (2, frozenset({"d" * 32}))


def test_nothing_is_stored_with_another_tenants_provider(cast: Cast, provider: Provider) -> None:
    store_refused_tool(provider_id=provider.pk, tenant_id=cast.globex.pk, refused=CERTAIN)
    provider.refresh_from_db()
    assert provider.refused_tools == {}


def test_only_so_many_are_kept(provider: Provider) -> None:
    for number in range(MAX_REFUSED + 5):
        store_refused_tool(
            provider_id=provider.pk, tenant_id=None, refused=RefusedTool("bad", f"{number:032}", "no", True)
        )
    provider.refresh_from_db()
    assert len(provider.refused_tools) == MAX_REFUSED


async def test_the_page_on_which_a_tool_is_let_in_says_what_is_lost(
    cast: Cast, raw_process: Outside, settings: Settings
) -> None:
    settings.DEBUG = True
    server = await add_server(cast.acme, raw_process)
    await look(server)
    shown = await in_db(page_of)(cast, server)
    assert "are told in words: Give at least one of these: title; or text." in shown


def page_of(cast: Cast, server: McpServer) -> str:
    return signed_in(cast.amy).get(f"/admin/assistant_mcp_servers/mcpserver/{server.pk}/change/").content.decode()
