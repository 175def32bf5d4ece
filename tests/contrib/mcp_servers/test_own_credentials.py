"""A member's page of their own credentials for external servers: entered by them, shown to nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.contrib.mcp_servers.services.health_checks import examine
from assistant.contrib.mcp_servers.services.servers import connection_of
from assistant.mcp_client import RemoteFailure
from assistant.models import AuditEntry, Membership
from assistant.services.toolpolicy.policy import effective_tools
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.mcp.outside import Outside

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/t/acme/connections/"
SECRET = "canary-772201"


@pytest.fixture(autouse=True)
def _development(settings: Settings) -> None:
    settings.DEBUG = True  # the external server is on the machine itself


@pytest.fixture
def server(cast: Cast, outsider: Outside) -> McpServer:
    """One of Acme's, that each member has credentials of their own for."""
    return McpServer.objects.create(
        tenant=cast.acme, name="crm", prefix="crm", url=outsider.url, is_active=True, credentials_of="user"
    )


@pytest.fixture
def alice(cast: Cast) -> Client:
    return signed_in(cast.alice)


def enter(client: Client, server: McpServer, **given: Any) -> str:
    """Send the form as the page does; the page that follows."""
    host = server.url.split("/")[2]
    return client.post(f"{PAGE}{server.pk}/", {"host": host, **given}, follow=True).content.decode()


def rule_for(cast: Cast, user: Any) -> str:
    found = effective_tools(tenant_id=cast.acme.pk, user_id=user.pk, assistant_id=cast.support.pk)
    return next(entry.rule for entry in found if entry.tool.name == "crm__echo")


def test_a_member_enters_their_own_and_it_is_tried_as_them(
    alice: Client, cast: Cast, server: McpServer, outsider: Outside
) -> None:
    assert 'href="/t/acme/connections/"' in alice.get("/t/acme/").content.decode()
    outsider.be(token=SECRET)
    assert "You have stored no credentials" in alice.get(PAGE).content.decode()
    shown = enter(alice, server, token=SECRET)
    assert "Stored. It lists 16 tools" in shown and "Your credentials are stored." in shown
    stored = McpCredential.objects.get()
    assert (stored.user, stored.server, stored.headers) == (
        cast.alice, server, f'{{"Authorization": "Bearer {SECRET}"}}',
    )  # fmt: skip
    server.tools.update(is_allowed=True, accepted_digest=server.tools.get(name="echo").digest)
    assert "no credentials" not in rule_for(cast, cast.alice)
    assert rule_for(cast, cast.amy) == "The user has no credentials for the server crm."


def test_what_was_entered_is_shown_nowhere(alice: Client, cast: Cast, server: McpServer) -> None:
    shown = enter(alice, server, headers=f'{{"X-Key": "{SECRET}"}}')
    amy = signed_in(cast.amy)
    pages = [alice.get(PAGE), amy.get(PAGE), amy.get("/admin/assistant_mcp_servers/mcpcredential/"), amy.get("/admin/")]
    assert SECRET not in "".join([shown, *(page.content.decode() for page in pages)])
    assert SECRET not in str(list(AuditEntry.objects.values()))
    assert AuditEntry.objects.filter(action="mcpcredential.set", actor=cast.alice, tenant=cast.acme).exists()


def test_each_member_has_one_and_deletes_their_own_alone(alice: Client, cast: Cast, server: McpServer) -> None:
    amy = signed_in(cast.amy)
    enter(alice, server, token="first")
    enter(amy, server, token="amys")
    assert "Your credentials are stored." in enter(alice, server, token="second")
    assert sorted(McpCredential.objects.values_list("user__username", "headers")) == [
        ("alice", '{"Authorization": "Bearer second"}'), ("amy", '{"Authorization": "Bearer amys"}'),
    ]  # fmt: skip
    alice.post(f"{PAGE}{server.pk}/delete/")
    assert [row.user for row in McpCredential.objects.all()] == [cast.amy]


def test_one_members_wrong_key_does_not_affect_others(
    alice: Client, cast: Cast, server: McpServer, outsider: Outside
) -> None:
    outsider.be(token="right")
    assert "does not work yet. The external server did not accept" in enter(alice, server, token="wrong")
    signed_in(cast.amy).post(f"/admin/assistant_mcp_servers/mcpserver/{server.pk}/try/")  # she has set none
    server.refresh_from_db()
    assert server.health == "unknown"


def test_a_refused_key_does_not_replace_a_working_one(alice: Client, server: McpServer, outsider: Outside) -> None:
    outsider.be(token="right")
    enter(alice, server, token="right")
    shown = enter(alice, server, token="wrong")
    assert "Your earlier credentials are kept." in shown and "administrator can set" not in shown
    assert McpCredential.objects.get().headers == '{"Authorization": "Bearer right"}'


def test_a_tenants_wrong_key_is_the_servers_health(cast: Cast, outsider: Outside) -> None:
    outsider.be(token="right")
    server = McpServer.objects.create(tenant=cast.acme, name="crm", prefix="crm", url=outsider.url, is_active=True)
    signed_in(cast.amy).post(f"/admin/assistant_mcp_servers/mcpserver/{server.pk}/try/")
    server.refresh_from_db()
    assert server.health == "down" and "did not accept" in server.health_detail


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"token": "a\nb"},
        {"token": "ä"},
        {"token": "x" * 4001},
        {"headers": "no json"},
        {"headers": '{"Host": "x"}'},
        {"token": "a", "headers": '{"authorization": "b"}'},
        {"client_id": "alone"},
        {"token": "a", "host": "elsewhere.example"},
    ],
)
def test_invalid_input_is_refused_and_not_shown_again(alice: Client, server: McpServer, wrong: dict[str, str]) -> None:
    shown = enter(alice, server, **wrong)
    assert "Nothing was stored." in shown and not McpCredential.objects.exists()
    assert "no json" not in shown


def test_an_oauth_client_is_sent_only_to_its_authorization_server(alice: Client, server: McpServer) -> None:
    server.oauth_issuer = "https://auth.example.com"
    server.save()
    assert "auth.example.com" in alice.get(PAGE).content.decode()
    enter(alice, server, client_id="me", client_secret=SECRET)
    stored = McpCredential.objects.get()
    assert (stored.oauth_client_id, stored.oauth_client_secret, stored.headers) == ("me", SECRET, "")


def test_only_servers_that_ask_for_it_and_only_of_ones_own_tenant(alice: Client, cast: Cast, server: McpServer) -> None:
    rival = McpServer.objects.create(
        tenant=cast.globex,
        name="rival",
        prefix="r",
        url="https://rival.example/",
        is_active=True,
        credentials_of="user",
    )
    shared = McpServer.objects.create(
        tenant=cast.acme, name="shared", prefix="s", url="https://shared.example/", is_active=True
    )
    page = alice.get(PAGE).content.decode()
    content = page[page.index("<main") :]  # the head names scripts, and one is shared.js
    assert "rival" not in content and "shared" not in content
    for other in (rival, shared):
        for part in ("", "delete/"):
            answer = alice.post(f"{PAGE}{other.pk}/{part}", {"token": SECRET, "host": other.url.split("/")[2]})
            assert answer.status_code == 404
    assert signed_in(cast.mallory).get(PAGE).status_code == 404
    assert signed_in(cast.mallory).post(f"{PAGE}{server.pk}/", {"token": SECRET}).status_code == 404
    assert not McpCredential.objects.exists()


def store(cast: Cast, server: McpServer, user: Any) -> None:
    McpCredential.objects.create(server=server, user=user, headers=f'{{"X-Key": "{SECRET}"}}')


def owners() -> list[str]:
    """Whose credentials are stored."""
    return sorted(McpCredential.objects.values_list("user__username", flat=True))


@pytest.mark.parametrize("way", ["page", "action"])
def test_whoever_leaves_the_tenant_leaves_no_credentials_there(cast: Cast, server: McpServer, way: str) -> None:
    rival = McpServer.objects.create(tenant=cast.globex, name="crm", prefix="crm", url=server.url, is_active=True)
    Membership.objects.create(tenant=cast.globex, user=cast.alice)
    for user, at in ((cast.alice, server), (cast.amy, server), (cast.alice, rival)):
        store(cast, at, user)
    place = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    amys = signed_in(cast.amy)
    if way == "page":
        amys.post(f"/admin/assistant/membership/{place.pk}/delete/", {"post": "yes"})
    else:
        chosen = {"action": "delete_selected", "_selected_action": [place.pk], "post": "yes"}
        amys.post("/admin/assistant/membership/", chosen)
    assert not Membership.objects.filter(pk=place.pk).exists()
    assert sorted(McpCredential.objects.values_list("user__username", "server__tenant__slug")) == [
        ("alice", "globex"), ("amy", "acme"),
    ]  # fmt: skip
    line = AuditEntry.objects.get(action="mcpcredential.delete")
    assert (line.tenant, line.actor, line.target) == (cast.acme, cast.amy, "crm for alice")
    assert line.details == {"why": "the membership ended"} and SECRET not in str(line.__dict__)


def test_credentials_go_with_the_user_and_with_the_server(cast: Cast, server: McpServer) -> None:
    store(cast, server, cast.alice)
    store(cast, server, cast.amy)
    cast.alice.delete()
    assert owners() == ["amy"]
    signed_in(cast.amy).post(f"/admin/assistant_mcp_servers/mcpserver/{server.pk}/delete/", {"post": "yes"})
    assert owners() == [] and AuditEntry.objects.filter(action="mcpserver.delete", tenant=cast.acme).exists()


def test_credentials_of_former_members_are_not_used(cast: Cast, server: McpServer) -> None:
    store(cast, server, cast.mallory)  # whichever way that came about
    with pytest.raises(RemoteFailure) as caught:
        connection_of(tenant_id=cast.acme.pk, server_id=server.pk, user_id=cast.mallory.pk)
    assert caught.value.kind == "unauthorized"


def test_no_link_is_shown_if_no_server_needs_credentials(alice: Client, cast: Cast) -> None:
    assert "/t/acme/connections/" not in alice.get("/t/acme/").content.decode()
    assert "No server asks" in alice.get(PAGE).content.decode()


async def test_the_test_button_uses_the_callers_own_credentials(
    cast: Cast, server: McpServer, outsider: Outside
) -> None:
    outsider.be(token="alices")
    await McpCredential.objects.acreate(server=server, user=cast.alice, headers='{"Authorization": "Bearer alices"}')
    assert (await examine(tenant_id=cast.acme.pk, server_id=server.pk, user_id=cast.alice.pk)).is_healthy
    assert not (await examine(tenant_id=cast.acme.pk, server_id=server.pk, user_id=cast.amy.pk)).is_healthy
