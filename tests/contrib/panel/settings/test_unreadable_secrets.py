"""Secrets whose key is lost: the first page says so, and the pages on which they are entered again still open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.test import Client

from assistant.contrib.mcp_servers.models import McpServer
from assistant.models import Provider, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.panel.home.test_frame import pick
from tests.contrib.panel.home.test_home import home
from tests.contrib.webhooks.hooks import hook
from tests.factories import make_provider, switch_tool


@tool(secrets=("token",))
def post_letter() -> None:
    """Post a letter."""


@pytest.fixture
def lost_key(cast: Cast, settings: Any) -> Iterator[ToolSetting]:
    """Secrets of Acme and Globex that were stored with a key that is gone; yields Acme's switch."""
    settings.ASSISTANT_FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    settings_of = [switch_tool(tenant, "post_letter") for tenant in (cast.acme, cast.globex)]
    for setting in settings_of:
        setting.secrets = '{"token": "t"}'
        setting.save()
    make_provider(cast.acme, base_url="https://llm.example.com/v1", api_key="sk-x")
    McpServer.objects.create(tenant=cast.acme, name="Files", url="https://a.example/mcp", headers='{"A": "b"}')
    hook(cast.acme, "https://hooks.example.com/")
    settings.ASSISTANT_FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with catalogue.using(Registry([post_letter])):
        yield settings_of[0]


def told(client: Client) -> dict[str, list[tuple[str, str]]]:
    needs = home(client)["needs"]
    found = {need["sentence"]: [(name, tenant) for name, tenant, _ in need["items"]] for need in needs}
    return {sentence: items for sentence, items in found.items() if "cannot decrypt" in sentence}


def test_the_first_page_names_what_cannot_be_decrypted(root: Client, lost_key: ToolSetting) -> None:
    names = told(root)
    assert [sentence.partition(" that")[0] for sentence in names] == [
        "2 tools have secrets",
        "1 provider has a key",
        "1 MCP server has credentials",
        "1 webhook has a secret",
    ]
    assert names.popitem()[1][0][1] == "Acme"
    for need in home(root)["needs"]:
        assert all(root.get(url).status_code == 200 for url in (need["url"], *(item[2] for item in need["items"])))


def test_a_tenants_admin_reads_of_the_own_tenant_only(lost_key: ToolSetting, cast: Cast) -> None:
    client = Client()
    client.force_login(cast.amy)
    assert {tenant for items in told(client).values() for _, tenant in items} == {"Acme"}


def test_the_picked_tenant_counts(root: Client, lost_key: ToolSetting) -> None:
    pick(root, "globex")
    assert list(told(root).values()) == [[("post_letter", "Globex")]]


@pytest.mark.parametrize("token", ["", "new"])
def test_a_secret_is_entered_again_and_nothing_else_overwrites_it(
    token: str, root: Client, lost_key: ToolSetting
) -> None:
    before = stored(lost_key)
    page = f"/admin/assistant/toolsetting/{lost_key.pk}/change/"
    form = root.get(page).context["adminform"].form
    values = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    answer = root.post(page, {**values, "policy": "ask", "secret_token": token})
    assert answer.status_code == 302
    assert (stored(lost_key) == before) == (token == "")
    if token:
        assert ToolSetting.objects.get(pk=lost_key.pk).secrets == '{"token": "new"}'


def stored(setting: ToolSetting) -> str:
    return column("SELECT secrets FROM assistant_toolsetting WHERE id = %s", setting.pk)


def column(query: str, key: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute(query, [key])
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize("headers", ["", '{"A": "new"}'])
def test_the_page_of_a_server_opens_and_takes_new_headers(headers: str, root: Client, lost_key: ToolSetting) -> None:
    McpServer.objects.update(oauth_client_secret="never decrypted")
    server = McpServer.objects.defer("headers", "oauth_client_secret").get()
    query = "SELECT headers FROM assistant_mcp_servers_mcpserver WHERE id = %s"
    before = column(query, server.pk)
    page = f"/admin/assistant_mcp_servers/mcpserver/{server.pk}/change/"
    opened = root.get(page)
    assert "Headers, OAuth client secret" in opened.content.decode()
    form = opened.context["adminform"].form
    values = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    tools = {"tools-TOTAL_FORMS": "0", "tools-INITIAL_FORMS": "0"}
    answer = root.post(page, {**values, **tools, "name": "Folders", "new_headers": headers})
    assert answer.status_code == 302, answer.context["errors"]
    assert (column(query, server.pk) == before) == (headers == "")
    assert McpServer.objects.filter(name="Folders").exists()


def test_the_page_of_a_server_deletes_what_is_stored(root: Client, lost_key: ToolSetting) -> None:
    server = McpServer.objects.defer("headers", "oauth_client_secret").get()
    values = {"tenant": server.tenant_id, "name": "Files", "prefix": server.prefix, "url": server.url}
    tools = {"tools-TOTAL_FORMS": "0", "tools-INITIAL_FORMS": "0", "credentials_of": "tenant", "timeout_seconds": "30"}
    page = f"/admin/assistant_mcp_servers/mcpserver/{server.pk}/change/"
    assert root.post(page, {**values, **tools, "clear_secrets": "on"}).status_code == 302
    server.refresh_from_db(fields=["headers", "oauth_client_secret"])
    assert (server.headers, server.oauth_client_secret) == ("", "")
    assert "Nothing." in root.get(page).content.decode()


def test_what_can_be_decrypted_is_not_named(root: Client, cast: Cast) -> None:
    make_provider(cast.acme, base_url="https://llm.example.com/v1", api_key="sk-x")
    assert told(root) == {} and Provider.objects.get().api_key
