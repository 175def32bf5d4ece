"""What a tenant's admin can do in their tenant (forms, choices, roles), and what only operators can do."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.models import Assistant, AuditEntry, Membership, Provider, Retention, Tenant
from assistant.services.assistants.configuration import LIMIT_COLUMNS
from assistant.toolkit.bounded_json import MAX_DEPTH
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_provider, make_tenant

ADD_MEMBER = "/admin/assistant/membership/add/"


def new_assistant(**fields: object) -> dict[str, object]:
    limits = {**dict.fromkeys(LIMIT_COLUMNS.values(), 1), "history_tokens": 100, "history_messages": 0}
    empty = {"TOTAL_FORMS": 0, "INITIAL_FORMS": 0}
    forms = {f"{p}-{k}": v for p in ("prompt_versions", "tool_settings", "delegation") for k, v in empty.items()}
    return {"name": "Sales", "slug": "sales", "is_active": "on", **limits, **forms, **fields}


def test_an_admin_creates_assistants_in_their_tenant(amys: Client, cast: Cast) -> None:
    answer = amys.post("/admin/assistant/assistant/add/", new_assistant(tenant=cast.acme.pk, starters="Hi\n\nHelp me"))
    assert answer.status_code == 302
    assert Assistant.objects.get(slug="sales").starters == ["Hi", "Help me"]


def test_other_models_and_what_follows_an_answer_are_set_with_bounds(amys: Client, cast: Cast) -> None:
    data = new_assistant(tenant=cast.acme.pk, other_models="large\n\n small \nlarge", extensions=["follow_ups"])
    assert amys.post("/admin/assistant/assistant/add/", data).status_code == 302
    made = Assistant.objects.get(slug="sales")
    assert made.other_models == ["large", "small"] and made.extensions == ["follow_ups"]
    for names in ("\n".join(map(str, range(9))), "x" * 201):
        answer = amys.post("/admin/assistant/assistant/add/", new_assistant(slug="more", other_models=names))
        assert "At most 8 other models" in answer.content.decode()
    assert not Assistant.objects.filter(slug="more").exists()


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 900, 9_000])
def test_too_deeply_nested_json_is_a_form_error(amys: Client, cast: Cast, levels: int) -> None:
    data = new_assistant(tenant=cast.acme.pk, answer_schema='{"a":' * levels + "1" + "}" * levels)
    answer = amys.post("/admin/assistant/assistant/add/", data)
    assert "Enter a valid JSON." in answer.content.decode()
    assert not Assistant.objects.filter(slug="sales").exists()


def test_an_admin_cannot_create_an_assistant_in_another_tenant(amys: Client, cast: Cast) -> None:
    amys.post("/admin/assistant/assistant/add/", new_assistant(tenant=cast.globex.pk))
    assert not Assistant.objects.filter(slug="sales").exists()


def test_only_the_tenants_and_the_deployments_providers_can_be_chosen(amys: Client, cast: Cast) -> None:
    make_provider(cast.acme, base_url="https://a.example.com", name="Own")
    make_provider(None, base_url="https://b.example.com", name="House")
    make_provider(cast.globex, base_url="https://c.example.com", name="Rival")
    page = amys.get("/admin/assistant/assistant/add/").content.decode()
    assert "Own" in page
    assert "House" in page
    assert "Rival" not in page
    assert "Globex" not in page


def test_even_a_superuser_cannot_mix_two_tenants(root: Client, cast: Cast) -> None:
    rival = make_provider(cast.globex, base_url="https://c.example.com")
    root.post("/admin/assistant/assistant/add/", new_assistant(tenant=cast.acme.pk, provider=rival.pk))
    assert not Assistant.objects.filter(slug="sales").exists()


def test_a_row_never_moves_to_another_tenant(root: Client, cast: Cast) -> None:
    data = new_assistant(tenant=cast.globex.pk, slug="moved")
    root.post(f"/admin/assistant/assistant/{cast.support.pk}/change/", data)
    cast.support.refresh_from_db()
    assert (cast.support.slug, cast.support.tenant) == ("moved", cast.acme)


def test_a_taken_slug_is_a_form_error(root: Client, cast: Cast) -> None:
    Assistant.objects.create(tenant=cast.acme, slug="sales", name="Sales")
    answer = root.post(f"/admin/assistant/assistant/{cast.support.pk}/change/", new_assistant(tenant=cast.acme.pk))
    assert answer.status_code == 200
    assert "already exists" in answer.content.decode()


def test_tenants_cannot_open_the_deployments_providers(amys: Client, cast: Cast) -> None:
    house = make_provider(None, base_url="https://b.example.com", name="House")
    assert amys.get(f"/admin/assistant/provider/{house.pk}/change/").status_code == 302
    assert "House" not in amys.get("/admin/assistant/provider/").content.decode()


def test_a_tenants_provider_must_name_its_tenant(amys: Client, cast: Cast) -> None:
    data = {"tenant": "", "name": "Mine", "base_url": "https://a.example.com/v1", "default_model": "m"}
    assert amys.post("/admin/assistant/provider/add/", data).status_code == 200
    assert not Provider.objects.exists()


def test_only_operators_create_tenants(amys: Client, root: Client, cast: Cast) -> None:
    data = {"slug": "initech", "name": "Initech", "timezone": "UTC", "owner": "oscar", "assistant": "A", "prompt": "P"}
    assert amys.post("/admin/assistant/tenant/add/", data).status_code == 403
    assert root.post("/admin/assistant/tenant/add/", data).status_code == 302
    assert Tenant.objects.filter(slug="initech").exists()


def test_an_admin_changes_their_tenants_time_zone_but_cannot_suspend_it(amys: Client, cast: Cast) -> None:
    data = {"name": "Acme", "timezone": "Asia/Tokyo", "slug": "stolen", **retention_form()}
    amys.post(f"/admin/assistant/tenant/{cast.acme.pk}/change/", data)
    cast.acme.refresh_from_db()
    assert (cast.acme.timezone, cast.acme.slug, cast.acme.is_active) == ("Asia/Tokyo", "acme", True)


def retention_form(**days: int) -> dict[str, str | int]:
    """Return the retention fields of a tenant's form, and the other lists of it, which are empty."""
    limits = {
        f"{prefix}-{name}_FORMS": 0 for prefix in ("limits", "alarms", "sharing") for name in ("TOTAL", "INITIAL")
    }
    form = {**limits, "retention-TOTAL_FORMS": 1, "retention-INITIAL_FORMS": 0, "retention-MAX_NUM_FORMS": 1}
    return {**form, **{f"retention-0-{name}": number for name, number in days.items()}}


def test_an_admin_sets_retention_up_to_the_deployments_maximum(amys: Client, cast: Cast, settings: Settings) -> None:
    settings.ASSISTANT_RETENTION_MAX_DAYS = 365
    page, data = f"/admin/assistant/tenant/{cast.acme.pk}/change/", {"name": "Acme", "timezone": "UTC"}
    assert b"for longer than 365 days" in amys.post(page, data | retention_form(audit=400)).content
    assert amys.post(page, data | retention_form(conversations=30)).status_code == 302
    assert cast.acme.retention.conversations == 30
    entry = AuditEntry.objects.filter(tenant=cast.acme, action="tenant.change").latest("pk")
    assert (entry.actor, "etention" in str(entry.details)) == (cast.amy, True)
    periods = AuditEntry.objects.get(tenant=cast.acme, action="retention.set")
    assert (periods.actor, periods.details["days"]["conversations"], periods.details["days"]["audit"]) == (
        cast.amy, 30, None,
    )  # fmt: skip
    rival = f"/admin/assistant/tenant/{cast.globex.pk}/change/"
    assert amys.post(rival, data | retention_form(conversations=1)).status_code in {302, 403, 404}
    assert not Retention.objects.filter(tenant=cast.globex).exists()


def test_operators_add_users(client: Client, cast: Cast) -> None:
    client.force_login(cast.root)
    assert 'name="password1"' in client.get("/admin/auth/user/add/").content.decode()


@pytest.mark.parametrize("path", ["user/", "user/add/", "group/", "user/1/password/"])
def test_only_operators_manage_users(amys: Client, cast: Cast, path: str) -> None:
    assert amys.get(f"/admin/auth/{path}").status_code == 403


def test_only_an_operator_adds_an_existing_user(amys: Client, cast: Cast) -> None:
    data = {"tenant": cast.acme.pk, "username": "oscar", "role": "member", "password": ""}
    assert b"This username is taken" in amys.post(ADD_MEMBER, data).content
    assert not Membership.objects.filter(user=cast.oscar).exists()
    assert signed_in(cast.root).post(ADD_MEMBER, data).status_code == 302
    assert Membership.objects.filter(tenant=cast.acme, user=cast.oscar, role="member").exists()


def test_an_existing_user_keeps_their_password(amys: Client, cast: Cast) -> None:
    before = cast.oscar.password
    amys.post(ADD_MEMBER, {"tenant": cast.acme.pk, "username": "oscar", "role": "member", "password": "Taken-over-1"})
    cast.oscar.refresh_from_db()
    assert cast.oscar.password == before
    assert not Membership.objects.filter(user=cast.oscar).exists()


def test_a_new_member_gets_a_password_and_an_admin_may_use_the_admin(amys: Client, cast: Cast) -> None:
    data = {"tenant": cast.acme.pk, "username": "nina", "role": "admin", "password": "Quite-a-long-one-42"}
    assert amys.post(ADD_MEMBER, data).status_code == 302
    nina = User.objects.get(username="nina")
    assert nina.check_password("Quite-a-long-one-42")
    assert (nina.is_staff, nina.is_superuser) == (True, False)
    assert signed_in(nina).get("/admin/assistant/assistant/").status_code == 200


@pytest.mark.parametrize(
    ("username", "password"), [("nina", ""), ("nina", "1234"), ("no spaces!", "Quite-a-long-one-42"), ("alice", "")]
)
def test_an_invalid_member_is_a_form_error(amys: Client, cast: Cast, username: str, password: str) -> None:
    data = {"tenant": cast.acme.pk, "username": username, "role": "member", "password": password}
    assert amys.post(ADD_MEMBER, data).status_code == 200
    assert Membership.objects.filter(tenant=cast.acme).count() == 2


def test_only_owners_appoint_owners(amys: Client, cast: Cast) -> None:
    data = {"tenant": cast.acme.pk, "username": "nina", "role": "owner", "password": "Quite-a-long-one-42"}
    assert amys.post(ADD_MEMBER, data).status_code == 200
    Membership.objects.filter(user=cast.amy).update(role="owner")
    assert amys.post(ADD_MEMBER, data).status_code == 302


def test_an_admin_cannot_change_an_owner(amys: Client, cast: Cast) -> None:
    owner = Membership.objects.create(tenant=cast.acme, user=cast.oscar, role="owner")
    amys.post(f"/admin/assistant/membership/{owner.pk}/change/", {"tenant": cast.acme.pk, "role": "member"})
    amys.post(f"/admin/assistant/membership/{owner.pk}/delete/", {"post": "yes"})
    owner.refresh_from_db()
    assert owner.role == "owner"


def test_a_suspended_tenants_admin_sees_nothing(amys: Client, cast: Cast) -> None:
    cast.acme.is_active = False
    cast.acme.suspension_notice = "Please call <billing>."
    cast.acme.save()
    assert amys.get("/admin/assistant/assistant/").status_code == 403
    first = amys.get("/admin/").content.decode()
    assert "Acme is suspended: nobody chats there" in first
    assert "Please call &lt;billing&gt;." in first
    assert "You have no task here" not in first
    assert "is suspended" not in signed_in(cast.greta).get("/admin/").content.decode()


def test_django_permissions_alone_give_no_access(cast: Cast) -> None:
    from django.contrib.auth.models import Permission

    cast.oscar.is_staff = True
    cast.oscar.save()
    cast.oscar.user_permissions.set(Permission.objects.all())
    client = signed_in(cast.oscar)
    for path in ("assistant/assistant/", "assistant/tenant/", "auth/user/", "tools/customer/"):
        assert client.get(f"/admin/{path}").status_code == 403


def test_an_admin_of_two_tenants_sees_both_and_no_third(amys: Client, cast: Cast) -> None:
    third = make_tenant("initech")
    Membership.objects.create(tenant=cast.globex, user=cast.amy, role="admin")
    page = amys.get("/admin/assistant/tenant/").content.decode()
    assert "Acme" in page
    assert "Globex" in page
    assert third.name not in page
