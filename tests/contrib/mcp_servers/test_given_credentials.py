"""Addresses and credentials of external servers, as people copy them."""

from __future__ import annotations

import pytest

from assistant.client import McpServer as ServerOfProgram
from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.mcp_servers.services.member_credentials import CredentialInput
from assistant.contrib.mcp_servers.services.servers import read_headers
from assistant.mcp_client import OAuthClient
from tests.base import Cast

pytestmark = pytest.mark.django_db
URL = "https://mcp.example.com/"


def test_what_copying_adds_to_addresses_and_credentials_is_removed(cast: Cast) -> None:
    given = '{" Authorization ": "Bearer abc\\n", "X-Tag": "\\u200b\\"1\\" "}'
    assert read_headers(given) == {"Authorization": "Bearer abc", "X-Tag": '"1"'}
    issuer = "'https://a.example' "
    row = McpServer.objects.create(tenant=cast.acme, name="a", prefix="a", url=f" {URL}\n", oauth_issuer=issuer)
    assert (row.url, row.oauth_issuer) == (URL, "https://a.example")
    McpServer.objects.filter(pk=row.pk, url=f"{URL} ").update(url=f"\t{URL}x\u200b")
    row.refresh_from_db()
    assert row.url == f"{URL}x"
    client = OAuthClient(" id\n", "secret\r\n", " https://a.example ")
    assert (client.client_id, client.client_secret, client.issuer) == ("id", "secret", "https://a.example")
    entry = CredentialInput(token="abc\n", client_id=" id")
    assert (entry.token, entry.client_id) == ("abc", "id")
    server = ServerOfProgram(f" {URL} ", headers={"Authorization ": "Bearer abc\n"})
    assert (server.url, server.endpoint.headers) == (URL, {"Authorization": "Bearer abc"})
