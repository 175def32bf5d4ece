"""A tenant keeps an owner and somebody who administers it, and forms offer only roles that can be saved."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from assistant.models import Membership
from assistant.services.privacy.erasure import erase_tenant, erase_user
from assistant.services.privacy.leaving import end_memberships
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


def make_owner(cast: Cast) -> None:
    Membership.objects.filter(user=cast.amy).update(role="owner")
    make_member(cast.acme, role="admin")


def test_the_last_owners_account_is_not_deleted_in_the_admin(root: Client, cast: Cast) -> None:
    make_owner(cast)
    page = root.post(f"/admin/auth/user/{cast.amy.pk}/delete/", {"username": "amy"}).content.decode()
    assert "first, of acme" in page
    assert role_of(cast) == "owner"


def test_the_last_owners_account_is_not_deactivated(root: Client, cast: Cast) -> None:
    make_owner(cast)
    page = f"/admin/auth/user/{cast.amy.pk}/change/"
    form = {
        "username": "amy", "date_joined_0": "2026-01-01", "date_joined_1": "00:00",
        "assistant_memberships-TOTAL_FORMS": 0, "assistant_memberships-INITIAL_FORMS": 0,
    }  # fmt: skip
    assert "first, of acme" in root.post(page, form).content.decode()
    make_member(cast.acme, role="owner")
    assert root.post(page, form).status_code == 302
    cast.amy.refresh_from_db()
    assert not cast.amy.is_active


def test_a_command_does_not_erase_the_last_owner(cast: Cast) -> None:
    make_owner(cast)
    for extra in ("--noinput", "--dry-run"):
        with pytest.raises(CommandError, match="first, of acme, or delete the tenant"):
            call_command("assistant_delete_user", "amy", "--by", "root", extra)
    with pytest.raises(LastAdministrator):
        erase_user(user=cast.amy, actor=cast.root)
    assert User.objects.get(username="amy").is_active
    make_member(cast.acme, role="owner")
    erase_user(user=cast.amy, actor=cast.root)
    assert role_of(cast) is None


def test_the_service_keeps_the_last_owner_too(cast: Cast) -> None:
    make_owner(cast)
    with pytest.raises(LastAdministrator):
        end_memberships(actor=cast.root, memberships=Membership.objects.filter(tenant=cast.acme, user=cast.amy))
    assert role_of(cast) == "owner"


def test_the_owner_of_an_erased_tenant_goes_with_it(cast: Cast) -> None:
    make_owner(cast)
    erase_tenant(tenant=cast.acme, actor=cast.root)
    assert not User.objects.filter(username="amy").exists()
