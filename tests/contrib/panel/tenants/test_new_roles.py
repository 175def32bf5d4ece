"""A permission is given on a member's page alone: it makes the role that allows just this."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assistant.contrib.panel.services.custom_roles import PermissionLacking, make_role
from assistant.models import AuditEntry, CustomRole
from assistant.services.tenancy.permissions import Permitted, permitted_tenants
from tests.base import Cast
from tests.contrib.panel.tenants.test_custom_roles import holder


def page_of(cast: Cast) -> str:
    return f"/admin/assistant/membership/{cast.acme.memberships.get(user=cast.alice).pk}/change/"


def offered(client: Client, cast: Cast) -> list[str]:
    return re.findall(r'name="new_roles" value="(\w+)"', client.get(page_of(cast)).content.decode())


def test_a_permission_makes_its_role_and_gives_it(amys: Client, cast: Cast) -> None:
    assert amys.post(page_of(cast), {"role": "member", "new_roles": ["tools", "spend"]}).status_code == 302
    permitted = permitted_tenants(User.objects.get(pk=cast.alice.pk))
    assert permitted.tenants("tools") == permitted.tenants("spend") == {cast.acme.pk}
    assert permitted.tenants("read_chats") == permitted.tenants("people") == frozenset()
    assert set(CustomRole.objects.filter(tenant=cast.acme).values_list("name", flat=True)) == {"Tools", "Spend"}
    actions = AuditEntry.objects.filter(tenant=cast.acme, actor=cast.amy).values_list("action", flat=True)
    assert set(actions) >= {"customrole.add", "membership.roles"}
    assert not {"tools", "spend"}.intersection(offered(amys, cast))


def test_a_role_that_a_member_has_stays(amys: Client, cast: Cast) -> None:
    role = CustomRole.objects.create(tenant=cast.acme, name="Editor", prompts=True)
    form = {"role": "member", "custom_roles": [role.pk], "new_roles": ["tools"]}
    assert amys.post(page_of(cast), form).status_code == 302
    names = cast.acme.memberships.get(user=cast.alice).custom_roles.values_list("name", flat=True)
    assert set(names) == {"Editor", "Tools"}


def test_nobody_makes_a_role_for_what_they_lack(cast: Cast) -> None:
    client = holder(cast, "people")
    assert "tools" not in offered(client, cast)
    client.post(page_of(cast), {"role": "member", "new_roles": ["tools"]})
    assert not CustomRole.objects.filter(tenant=cast.acme, tools=True).exists()
    with pytest.raises(PermissionLacking):
        make_role(tenant=cast.acme, permission="tools", actor=cast.alice)


def test_another_tenants_admin_makes_no_role(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.greta)
    client.post(page_of(cast), {"role": "member", "new_roles": ["tools"]})
    assert not CustomRole.objects.exists()


def test_a_name_that_is_taken_is_not_offered(amys: Client, cast: Cast) -> None:
    CustomRole.objects.create(tenant=cast.acme, name="tools", tools=True, prompts=True)
    assert "tools" not in offered(amys, cast)
    assert "prompts" in offered(amys, cast)


def test_a_permission_that_does_not_exist_is_a_mistake_of_the_page_that_asks_for_it() -> None:
    with pytest.raises(ValueError, match="no permission 'conversations'"):
        Permitted().tenants("conversations")
