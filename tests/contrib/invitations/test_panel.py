"""Invitations on a tenant's page: who makes them, how they arrive, how many, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.contrib.invitations import invitations
from assistant.contrib.invitations.invitations import invite
from assistant.contrib.invitations.models import Invitation
from assistant.models import AuditEntry, Membership, Tenant
from tests.base import Cast


def people(tenant: Tenant) -> str:
    return f"/admin/assistant/tenant/{tenant.pk}/people/"


def ask(client: Client, tenant: Tenant, email: str = "nina@example.com", role: str = "member") -> Any:
    return client.post(people(tenant), {"email": email, "role": role}, follow=True)


def test_an_invitation_is_sent_by_e_mail(amys: Client, cast: Cast, settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example.com"
    page = ask(amys, cast.acme).content.decode()
    assert "The invitation was sent to nina@example.com." in page
    (message,) = mail.outbox
    assert message.to == ["nina@example.com"]
    assert "Acme" in message.subject
    assert f"/accounts/invitation/?token={Invitation.objects.get().pk}." in str(message.body)
    assert "token=" not in page
    entry = AuditEntry.objects.get(action="invitation.make")
    assert (entry.tenant, entry.actor, entry.details) == (cast.acme, cast.amy, {"role": "member"})


def test_without_e_mail_the_link_is_copied(amys: Client, cast: Cast) -> None:
    page = ask(amys, cast.acme).content.decode()
    assert "Copy the link below" in page
    assert "http://testserver/accounts/invitation/?token=" in page
    assert mail.outbox == []


def test_a_mail_server_that_fails_keeps_the_invitation(amys: Client, cast: Cast, settings: Settings) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 9
    assert "could not be sent" in ask(amys, cast.acme).content.decode()
    assert Invitation.objects.get().is_sent is False


def test_another_tenants_invitations_cannot_be_touched(amys: Client, cast: Cast) -> None:
    theirs = invite(tenant=cast.globex, email="tom@example.com", role="member", actor=cast.greta)
    assert ask(amys, cast.globex).status_code == 404
    for tenant in (cast.acme, cast.globex):
        for verb in ("renew", "revoke"):
            assert amys.post(f"{people(tenant)}{theirs.pk}/{verb}/").status_code == 404
    assert "tom@example.com" not in amys.get(people(cast.acme)).content.decode()
    theirs.refresh_from_db()
    assert (theirs.serial, theirs.revoked_at) == (1, None)


def test_it_is_sent_again_and_revoked(amys: Client, cast: Cast) -> None:
    ask(amys, cast.acme)
    row = Invitation.objects.get()
    for verb in ("renew", "revoke", "revoke"):
        assert amys.post(f"{people(cast.acme)}{row.pk}/{verb}/").status_code == 302
    row.refresh_from_db()
    assert (row.serial, row.revoked_at is None) == (2, False)
    made = AuditEntry.objects.filter(tenant=cast.acme, action__startswith="invitation").order_by("pk")
    assert [entry.action for entry in made] == ["invitation.make", "invitation.renew", "invitation.revoke"]
    assert amys.get(f"{people(cast.acme)}{row.pk}/revoke/").status_code == 405


def test_nobody_invites_above_their_own_role(amys: Client, cast: Cast) -> None:
    assert "not one of the available choices" in ask(amys, cast.acme, role="owner").content.decode()
    assert "not one of the available choices" in ask(amys, cast.acme, role="end_user").content.decode()
    with pytest.raises(invitations.InvitationRefused):
        invite(tenant=cast.acme, email="x@example.com", role="owner", actor=cast.amy)
    with pytest.raises(invitations.InvitationRefused):
        invite(tenant=cast.acme, email="x@example.com", role="member", actor=cast.greta)


def test_an_admin_sees_no_link_of_an_owners_invitation(root: Client, amys: Client, cast: Cast) -> None:
    ask(root, cast.acme, role="owner")
    row = Invitation.objects.get()
    assert "token=" not in amys.get(people(cast.acme)).content.decode()
    amys.post(f"{people(cast.acme)}{row.pk}/revoke/")
    row.refresh_from_db()
    assert row.revoked_at is None


@pytest.mark.parametrize("email", ["no address", "", "nina@example.com\r\nBcc: x@example.com", "a" * 300 + "@x.at"])
def test_a_wrong_address_is_a_form_error(amys: Client, cast: Cast, email: str) -> None:
    assert ask(amys, cast.acme, email).status_code == 200
    assert not Invitation.objects.exists()


def test_who_is_invited_or_a_member_is_not_invited_again(amys: Client, cast: Cast) -> None:
    cast.alice.email = "alice@example.com"
    cast.alice.save()
    ask(amys, cast.acme)
    assert "invited already" in ask(amys, cast.acme, "NINA@example.com").content.decode()
    assert "a member already" in ask(amys, cast.acme, "Alice@example.com").content.decode()
    assert Invitation.objects.count() == 1


def test_a_tenant_invites_so_many_a_day(amys: Client, cast: Cast) -> None:
    for number in range(invitations.MAX_A_DAY):
        invite(tenant=cast.acme, email=f"n{number}@example.com", role="member", actor=cast.amy)
    assert "Try again later" in ask(amys, cast.acme).content.decode()
    assert invite(tenant=cast.globex, email="n@example.com", role="member", actor=cast.greta)


def test_one_invitation_is_sent_so_often(amys: Client, cast: Cast) -> None:
    ask(amys, cast.acme)
    row = Invitation.objects.get()
    for _ in range(invitations.MAX_SENDINGS + 2):
        amys.post(f"{people(cast.acme)}{row.pk}/renew/")
    row.refresh_from_db()
    assert row.serial == invitations.MAX_SENDINGS


def test_the_operator_switches_invitations_off(amys: Client, cast: Cast, settings: Settings) -> None:
    settings.ASSISTANT_INVITATION_DAYS = 0
    assert 'name="email"' not in amys.get(people(cast.acme)).content.decode()
    ask(amys, cast.acme)
    assert not Invitation.objects.exists()


def test_the_members_of_a_project_tenant_are_the_projects(root: Client, cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(external_id="7")
    ask(root, cast.acme)
    assert (Invitation.objects.exists(), Membership.objects.filter(tenant=cast.acme).count()) == (False, 2)
