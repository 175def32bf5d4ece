"""A member's page in the control panel names the servers for which they need credentials of their own."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.models import Membership
from tests.base import Cast

pytestmark = pytest.mark.django_db
SECRET = '{"Authorization": "Bearer of-alice"}'


def page_for(user: object, cast: Cast) -> str:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    member = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    return client.get(f"/admin/assistant/membership/{member.pk}/change/", follow=True).content.decode()


def server_of(tenant: object, name: str, credentials_of: str) -> McpServer:
    url = "https://mcp.example.com/mcp"
    return McpServer.objects.create(tenant=tenant, name=name, prefix=name[:3], url=url, credentials_of=credentials_of)


def test_connections_say_whether_credentials_are_stored_and_not_which(cast: Cast) -> None:
    server = server_of(cast.acme, "tickets", "user")
    server_of(cast.acme, "wiki", "user")
    server_of(cast.acme, "shared", "tenant")
    server_of(cast.globex, "rivals", "user")
    credential = McpCredential.objects.create(server=server, user=cast.alice, headers=SECRET)
    McpCredential.objects.create(server=server, user=cast.amy, headers=SECRET)
    for user in (cast.amy, cast.root):
        page = page_for(user, cast)
        section = page[page.index('id="connections"') :].partition("</section>")[0]
        assert f"mcpcredential/{credential.pk}/change/" in section
        assert "tickets" in section and "wiki" in section and "none yet" in section
        assert "shared" not in section and "rivals" not in section
        assert "of-alice" not in page


def test_without_such_servers_and_for_others_there_is_no_section(cast: Cast) -> None:
    assert 'id="connections"' not in page_for(cast.amy, cast)
    server_of(cast.acme, "tickets", "user")
    assert 'id="connections"' not in page_for(cast.greta, cast)
