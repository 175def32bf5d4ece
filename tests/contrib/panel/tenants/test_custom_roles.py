"""Custom roles: each permission opens its pages in that tenant and nothing else, and nobody gives what they lack."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.end_users.models import EndUser
from assistant.contrib.end_users.services.tokens import save_end_user
from assistant.contrib.invitations.invitations import InvitationRefused, invite
from assistant.contrib.invitations.models import Invitation
from assistant.contrib.panel.services.custom_roles import PermissionLacking, set_custom_roles
from assistant.models import (
    ApiKey,
    AuditEntry,
    Conversation,
    CustomRole,
    Incident,
    Membership,
    PromptVersion,
    ToolSetting,
)
from assistant.models.people import PERMISSIONS
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.contrib.panel.home.test_home import run_of
from tests.factories import make_member, make_tenant, switch_tool

HOME = "/admin/"
BOARD = "/admin/assistant/toolsetting/switchboard/"
# What each permission opens. Everything else stays closed.
LISTS = {
    "tools": ["toolsetting/"],
    "prompts": ["promptversion/", "promptvariable/"],
    "read_chats": [
        "conversation/",
        "message/",
        "run/",
        "toolcall/",
        "feedback/",
        "../assistant_receipts/receipt/",
        "../assistant_gaps/openquestion/",
    ],
    "approvals": ["approval/", "incident/"],
    "spend": ["usageentry/"],
    "keys": ["apikey/"],
    "people": ["membership/", "customrole/", "../assistant_end_users/enduser/"],
}
TABS = {"tools": "tools", "spend": "spend", "keys": "keys", "people": "people", "read_chats": "conversations"}
CLOSED = [
    "tenant/", "assistant/", "provider/", "../assistant_mcp_servers/mcpserver/", "webhook/", "webhookdelivery/",
    "auditentry/", "document/", "widgetorigin/",
]  # fmt: skip


def holder(cast: Cast, *permissions: str, name: str = "") -> Client:
    """Return a browser of a new member of Acme, who holds a role with these permissions."""
    user = make_member(cast.acme, name)
    give(cast, user, *permissions)
    return signed_in(user)


def list_of(page: str) -> str:
    """Return the address of a list, which is named from the lists of the core."""
    return urljoin("/admin/assistant/", page)


def give(cast: Cast, user: User, *permissions: str) -> CustomRole:
    role = CustomRole.objects.create(
        tenant=cast.acme, name=f"role {CustomRole.objects.count()}", **dict.fromkeys(permissions, True)
    )
    membership = Membership.objects.get(tenant=cast.acme, user=user)
    roles = [*membership.custom_roles.all(), role]
    set_custom_roles(membership=membership, roles=roles, actor=cast.root)
    return role


def tab(cast: Cast, name: str, rival: bool = False) -> str:
    return f"/admin/assistant/tenant/{(cast.globex if rival else cast.acme).pk}/{name}/"


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_a_permission_opens_its_pages_and_no_other(cast: Cast, permission: str) -> None:
    client = holder(cast, permission)
    pages = {page for pages in LISTS.values() for page in pages} | set(CLOSED)
    opened = {page for page in pages if client.get(list_of(page)).status_code == 200}
    assert opened == set(LISTS[permission])
    names = [*TABS.values(), "overview", "assistants", "audit", "change", "danger"]
    assert {name for name in names if client.get(tab(cast, name)).status_code == 200} == (
        {TABS[permission]} if permission in TABS else set()
    )
    switchboards = [client.get(f"{BOARD}{slug}").status_code for slug in ("", "acme/", "globex/")]
    assert switchboards == ([302, 200, 404] if permission == "tools" else [404, 404, 404])


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_a_permission_of_one_tenant_opens_nothing_of_another(cast: Cast, permission: str) -> None:
    client = holder(cast, permission)
    Membership.objects.create(tenant=cast.globex, user=User.objects.latest("pk"), role="member")
    theirs = run_of(cast, rival=True)
    secret = CustomRole.objects.create(tenant=cast.globex, name="Rival role", people=True)
    switch_tool(cast.globex, "rival_tool")
    AuditEntry.objects.create(tenant=cast.globex, action="x", target="x")
    Incident.objects.create(tenant=cast.globex, tool="rival_tool", description="x")
    for page in LISTS[permission]:
        context: Any = client.get(list_of(page)).context
        # Receipts and gaps have pages of their own in place of lists, and tests beside them.
        rows = context["cl"].result_list if "cl" in context else []
        assert {getattr(row, "tenant", cast.acme) for row in rows} <= {cast.acme}
    for address in (f"run/{theirs.pk}/", f"conversation/{theirs.conversation_id}/", f"customrole/{secret.pk}/"):
        assert client.get(f"/admin/assistant/{address}change/").status_code in {302, 403}
    for name in TABS.values():
        assert client.get(tab(cast, name, rival=True)).status_code == 404


def test_a_member_without_a_role_may_do_nothing(cast: Cast) -> None:
    cast.alice.is_staff = True
    cast.alice.save()
    client = signed_in(cast.alice)
    assert {client.get(list_of(page)).status_code for pages in LISTS.values() for page in pages} == {403}
    assert "You have no task here" in client.get(HOME).content.decode()


def test_the_first_page_lists_what_a_holder_may_open(cast: Cast) -> None:
    run_of(cast)
    page = holder(cast, "tools", "spend").get(HOME).content.decode()
    assert tab(cast, "tools") in page
    assert tab(cast, "spend") in page
    assert tab(cast, "people") not in page
    assert "Last changes" not in page


def test_a_role_ends_with_its_tenants_activity_and_with_the_membership(cast: Cast) -> None:
    client = holder(cast, "read_chats")
    type(cast.acme).objects.filter(pk=cast.acme.pk).update(is_active=False)
    assert client.get("/admin/assistant/conversation/").status_code == 403
    type(cast.acme).objects.filter(pk=cast.acme.pk).update(is_active=True)
    Membership.objects.filter(user=User.objects.latest("pk")).delete()
    assert client.get("/admin/assistant/conversation/").status_code == 403


def test_a_holder_of_tools_switches_them_in_their_tenant_only(cast: Cast) -> None:
    client = holder(cast, "tools")
    for tenant in (cast.acme, cast.globex):
        client.post(f"{BOARD}{tenant.slug}/", {"set": f"{tenant.pk}::calculate:on"})
    assert [row.tenant for row in ToolSetting.objects.all()] == [cast.acme]


def test_a_holder_of_prompts_writes_and_publishes(cast: Cast) -> None:
    client = holder(cast, "prompts")
    add = "/admin/assistant/promptversion/add/"
    form = {"assistant": cast.support.pk, "text": "Be kind.", "note": "", "_publish": "1"}
    question = client.post(add, form).headers["Location"]
    client.post(question, {"shown": client.get(question).context["asked"][0]["state"]})
    client.post(add, {"assistant": cast.rival_support.pk, "text": "Be rude.", "note": "", "_publish": "1"})
    assert PromptVersion.objects.get(assistant=cast.support, status="published").text == "Be kind."
    assert not PromptVersion.objects.filter(text="Be rude.").exists()


def new_key(cast: Cast, client: Client, user: User) -> Any:
    nonce = (
        client.get("/admin/assistant/apikey/add/", {"tenant": cast.acme.pk}).context["adminform"].form["once"].initial
    )
    form = {"tenant": cast.acme.pk, "user": user.pk, "name": "k", "scopes": ["read"], "once": nonce}
    return client.post("/admin/assistant/apikey/add/", form)


def test_a_holder_of_keys_makes_them_for_themselves_only(cast: Cast) -> None:
    client = holder(cast, "keys", name="karl")
    karl = User.objects.get(username="karl")
    new_key(cast, client, cast.amy)
    new_key(cast, client, cast.alice)
    assert not ApiKey.objects.exists()
    assert new_key(cast, client, karl).status_code == 200
    assert ApiKey.objects.get().user == karl


def test_an_admin_elsewhere_makes_no_keys_for_others_here(cast: Cast) -> None:
    give(cast, cast.alice, "keys")
    Membership.objects.create(tenant=cast.globex, user=cast.alice, role="admin")
    new_key(cast, signed_in(cast.alice), cast.amy)
    assert not ApiKey.objects.exists()


def test_who_may_only_see_the_spend_sets_no_limits(cast: Cast) -> None:
    client = holder(cast, "spend")
    assert "Save the limits" not in client.get(tab(cast, "spend")).content.decode()
    client.post(tab(cast, "spend"), {"member_messages_per_day": "1"})
    assert not hasattr(type(cast.acme).objects.get(pk=cast.acme.pk), "limits")


def change_member(client: Client, membership: Membership, **form: object) -> Any:
    data = {"tenant": membership.tenant_id, "role": membership.role, **form}
    return client.post(f"/admin/assistant/membership/{membership.pk}/change/", data)


def test_a_holder_of_people_gives_members_roles_that_they_have_themselves(cast: Cast) -> None:
    client = holder(cast, "people", "tools")
    mine, more = (CustomRole.objects.create(tenant=cast.acme, name=n, **{n: True}) for n in ("tools", "spend"))
    alice = Membership.objects.get(user=cast.alice)
    assert change_member(client, alice, custom_roles=[mine.pk]).status_code == 302
    page = change_member(client, alice, custom_roles=[mine.pk, more.pk])
    assert (page.status_code, "You lack what this role allows: spend" in page.content.decode()) == (200, True)
    assert list(alice.custom_roles.all()) == [mine]
    entry = AuditEntry.objects.get(tenant=cast.acme, action="membership.roles", target="alice")
    assert entry.details["values"] == {"roles": [None, "tools"]}
    cast.alice.refresh_from_db()
    assert cast.alice.is_staff


def test_nobody_takes_a_role_that_allows_more_than_they_may(cast: Cast) -> None:
    client = holder(cast, "people")
    role = give(cast, cast.alice, "spend")
    assert change_member(client, Membership.objects.get(user=cast.alice), custom_roles=[]).status_code == 200
    assert list(Membership.objects.get(user=cast.alice).custom_roles.all()) == [role]


def test_nobody_gives_themselves_more(cast: Cast) -> None:
    client = holder(cast, "people", name="paula")
    role = CustomRole.objects.create(tenant=cast.acme, name="All", **dict.fromkeys(PERMISSIONS, True))
    own = Membership.objects.get(user__username="paula")
    change_member(client, own, custom_roles=[role.pk])
    change_member(client, own, role="admin")
    client.post("/admin/assistant/customrole/add/", {"tenant": cast.acme.pk, "name": "Mine", "spend": "on"})
    held = own.custom_roles.get()
    client.post(f"/admin/assistant/customrole/{held.pk}/change/", {"name": "x", "people": "on", "spend": "on"})
    own.refresh_from_db()
    held.refresh_from_db()
    assert (own.role, own.custom_roles.count(), held.permissions) == ("member", 1, {"people"})
    assert not CustomRole.objects.filter(name="Mine").exists()


def test_a_holder_of_people_touches_no_admin(cast: Cast) -> None:
    client = holder(cast, "people")
    amy = Membership.objects.get(user=cast.amy)
    make_member(cast.acme, role="admin")
    assert change_member(client, amy, role="member").status_code == 403
    client.post(f"/admin/assistant/membership/{amy.pk}/delete/", {"post": "yes"})
    data = {"action": "delete_selected", "_selected_action": [amy.pk], "post": "yes"}
    client.post("/admin/assistant/membership/", data)
    add = {"tenant": cast.acme.pk, "username": "nina", "password": "Quite-a-long-one-42"}
    assert client.post("/admin/assistant/membership/add/", {**add, "role": "admin"}).status_code == 200
    assert client.post("/admin/assistant/membership/add/", {**add, "role": "member"}).status_code == 302
    amy.refresh_from_db()
    assert amy.role == "admin"


def test_a_holder_of_people_invites_members_only(cast: Cast) -> None:
    client = holder(cast, "people", name="paula")
    paula = User.objects.get(username="paula")
    with pytest.raises(InvitationRefused):
        invite(tenant=cast.acme, email="a@example.com", role="admin", actor=paula)
    client.post(tab(cast, "people"), {"email": "a@example.com", "role": "admin"})
    client.post(tab(cast, "people"), {"email": "b@example.com", "role": "member"})
    assert [row.email for row in Invitation.objects.all()] == ["b@example.com"]


def test_a_role_that_allows_more_is_neither_changed_nor_deleted(cast: Cast) -> None:
    client = holder(cast, "people")
    role = CustomRole.objects.create(tenant=cast.acme, name="Spender", spend=True)
    page = f"/admin/assistant/customrole/{role.pk}/"
    client.post(f"{page}change/", {"name": "Renamed", "people": "on"})
    client.post(f"{page}delete/", {"post": "yes"})
    data = {"action": "delete_selected", "_selected_action": [role.pk], "post": "yes"}
    client.post("/admin/assistant/customrole/", data)
    role.refresh_from_db()
    assert (role.name, role.permissions) == ("Spender", {"spend"})


def test_roles_of_another_tenant_are_not_given(amys: Client, root: Client, cast: Cast) -> None:
    role = CustomRole.objects.create(tenant=cast.globex, name="Rival", tools=True)
    alice = Membership.objects.get(user=cast.alice)
    own = CustomRole.objects.create(tenant=cast.acme, name="Own", tools=True)
    for client in (amys, root):
        assert change_member(client, alice, custom_roles=[role.pk]).status_code == 200
    with pytest.raises(ValueError, match="another tenant"):
        set_custom_roles(membership=alice, roles=[role], actor=cast.root)
    with pytest.raises(PermissionLacking):
        set_custom_roles(membership=alice, roles=[own], actor=cast.greta)


def test_an_admin_makes_changes_and_deletes_roles(amys: Client, cast: Cast) -> None:
    add = "/admin/assistant/customrole/add/"
    assert amys.post(add, {"tenant": cast.acme.pk, "name": "Toolsmith", "tools": "on"}).status_code == 302
    assert amys.post(add, {"tenant": cast.acme.pk, "name": "Nothing"}).status_code == 200
    assert amys.post(add, {"tenant": cast.acme.pk, "name": "Toolsmith", "spend": "on"}).status_code == 200
    assert amys.post(add, {"tenant": cast.globex.pk, "name": "Rival", "tools": "on"}).status_code == 200
    role = CustomRole.objects.get()
    page = f"/admin/assistant/customrole/{role.pk}/"
    assert amys.post(f"{page}change/", {"name": "Toolsmith", "spend": "on"}).status_code == 302
    entry = AuditEntry.objects.get(tenant=cast.acme, action="customrole.change")
    assert entry.details["values"] == {"tools": ["False", "True"][::-1], "spend": ["False", "True"]}
    assert amys.post(f"{page}delete/", {"post": "yes"}).status_code == 302
    assert not CustomRole.objects.exists()


def found(client: Client, text: str) -> dict[str, list[str]]:
    page: Any = client.get("/admin/search/", {"q": text})
    return {str(title): [url for _, url in hits] for title, hits, _ in page.context["found"]}


def test_the_search_finds_only_what_the_permission_opens(cast: Cast) -> None:
    say_something(cast)
    make_member(cast.acme, "opening-hours")
    assert set(found(holder(cast, "people"), "Opening")) == {"People"}
    assert set(found(holder(cast, "read_chats"), "Opening")) == {"Conversations"}
    assert found(holder(cast, "spend"), "acme") == {}


def test_each_hit_leads_to_a_page(amys: Client, cast: Cast) -> None:
    save_end_user(tenant_id=cast.acme.pk, external_id="shop-77", name="Acmelia", context={})
    say_something(cast)
    hits = {**found(amys, "acme"), **found(amys, "Opening"), **found(amys, "alice"), **found(amys, "time")}
    assert set(hits) == {"Tenants", "End users", "Conversations", "People", "Tools"}
    assert {amys.get(url).status_code for urls in hits.values() for url in urls} == {200}
    assert hits["End users"] == [f"/admin/assistant_end_users/enduser/{EndUser.objects.get().pk}/change/"]


def test_parts_of_e_mail_addresses_find_nobody_for_a_tenants_admin(amys: Client, root: Client, cast: Cast) -> None:
    for user, email in ((cast.alice, "a.liddell@private.example"), (cast.mallory, "m@private.example")):
        user.email = email
        user.save()
    assert found(amys, "private.example") == {}
    assert found(amys, "m@private.example") == {}
    assert len(found(amys, "A.Liddell@private.example")["People"]) == 1
    assert len(found(root, "private.example")["People"]) == 2


def test_many_roles_cost_no_more_queries(cast: Cast) -> None:
    client = holder(cast, "read_chats")
    user = User.objects.latest("pk")

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/admin/assistant/conversation/").status_code == 200
        return len(queries)

    before = count()
    for _ in range(5):
        give(cast, user, "tools", "read_chats")
        Membership.objects.create(tenant=make_tenant(), user=user, role="member")
    assert count() == before
    assert Conversation.objects.count() == 0
