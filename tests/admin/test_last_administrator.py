"""A tenant keeps an owner and somebody who administers it, and forms offer only roles that can be saved."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from assistant.models import Membership
from assistant.services.tenancy.memberships import LastAdministrator, set_role
from tests.base import Cast
from tests.factories import make_member

LIST = "/admin/assistant/membership/"


def role_of(cast: Cast) -> str | None:
    return Membership.objects.filter(tenant=cast.acme, user=cast.amy).values_list("role", flat=True).first()


def amys_page(cast: Cast) -> str:
    return f"{LIST}{cast.acme.memberships.get(user=cast.amy).pk}/"


def test_the_last_admin_cannot_demote_herself(amys: Client, cast: Cast) -> None:
    form = {"tenant": cast.acme.pk, "role": "member"}
    page = amys.post(f"{amys_page(cast)}change/", form).content.decode()
    assert "Nobody else administers this tenant" in page
    assert role_of(cast) == "admin"
    make_member(cast.acme, role="admin")
    assert amys.post(f"{amys_page(cast)}change/", form).status_code == 302
    assert role_of(cast) == "member"


def test_the_last_owner_stays_even_beside_admins(amys: Client, cast: Cast) -> None:
    make_member(cast.acme, role="admin")
    Membership.objects.filter(user=cast.amy).update(role="owner")
    page = amys.post(f"{amys_page(cast)}change/", {"tenant": cast.acme.pk, "role": "admin"}).content.decode()
    assert "This is the last owner" in page
    amys.post(f"{amys_page(cast)}delete/", {"post": "yes"})
    assert role_of(cast) == "owner"


@pytest.mark.parametrize("who", ["root", "amys"])
def test_the_last_admin_cannot_be_deleted(who: str, cast: Cast, request: pytest.FixtureRequest) -> None:
    client = request.getfixturevalue(who)
    assert "Nobody else administers" in client.post(f"{amys_page(cast)}delete/", {"post": "yes"}).content.decode()
    chosen = list(cast.acme.memberships.values_list("pk", flat=True))
    data = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    assert "Nobody else administers" in client.post(LIST, data).content.decode()
    assert role_of(cast) == "admin"


def test_a_suspended_account_is_no_other_administrator(cast: Cast) -> None:
    make_member(cast.acme, role="admin", is_active=False)
    make_member(cast.globex, role="admin")
    with pytest.raises(LastAdministrator):
        set_role(membership=cast.acme.memberships.get(user=cast.amy), role="member")


@pytest.mark.parametrize(("who", "offered"), [("amys", ["member", "admin"]), ("root", ["member", "admin", "owner"])])
def test_only_roles_that_can_be_granted_are_offered(
    who: str, offered: list[str], cast: Cast, request: pytest.FixtureRequest
) -> None:
    for page in ("add/", f"{cast.acme.memberships.get(user=cast.alice).pk}/change/"):
        text = request.getfixturevalue(who).get(f"{LIST}{page}").content.decode()
        select = re.search(r'<select name="role".*?</select>', text, re.DOTALL)
        assert select is not None
        assert re.findall(r'value="(\w+)"', select[0]) == offered
