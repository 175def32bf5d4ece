"""An invitation's link: who can join with it, once, for how long, and what ends it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.signing import Signer
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from assistant.contrib.invitations.invitations import (
    InvitationRefused,
    accept,
    accept_as_new,
    invitation_of,
    invite,
    renew,
    revoke,
    token_of,
)
from assistant.contrib.invitations.models import Invitation
from assistant.models import AuditEntry, Membership
from assistant.services.privacy.erasure import erase_user
from tests.base import Cast

pytestmark = pytest.mark.django_db
PAGE = "/accounts/invitation/"
GOOD = "Quite-a-long-one-42"


def invited(cast: Cast, email: str = "nina@example.com", role: str = "member", actor: User | None = None) -> Invitation:
    return invite(tenant=cast.acme, email=email, role=role, actor=actor or cast.amy)


def opened(invitation: Invitation, user: User | None = None) -> Client:
    """Return a browser, in which a user may be signed in, that has opened the link."""
    client = Client()
    if user is not None:
        client.force_login(user)
    answer = client.get(PAGE, {"token": token_of(invitation)})
    assert (answer.status_code, answer.headers["Location"]) == (302, PAGE)
    return client


def join(client: Client, name: str = "nina", password: str = GOOD) -> Any:
    return client.post(PAGE, {"username": name, "password": password})


def oscar_at(cast: Cast, email: str) -> User:
    cast.oscar.email = email
    cast.oscar.save()
    return cast.oscar


def test_a_new_account_joins_that_tenant_only(cast: Cast) -> None:
    answer = join(opened(invited(cast)))
    assert answer.headers["Location"] == "/accounts/login/?next=%2Ft%2Facme%2F"
    nina = User.objects.get(username="nina")
    assert nina.check_password(GOOD)
    assert [(row.tenant, row.role) for row in nina.assistant_memberships.all()] == [(cast.acme, "member")]
    assert (nina.is_staff, nina.is_superuser) == (False, False)
    entry = AuditEntry.objects.get(action="invitation.accept")
    assert (entry.tenant, entry.actor, entry.target) == (cast.acme, nina, "nina@example.com")


def test_an_invited_admin_may_use_the_admin(cast: Cast) -> None:
    join(opened(invited(cast, role="admin")))
    assert User.objects.get(username="nina").is_staff


def test_a_link_works_once(cast: Cast) -> None:
    invitation = invited(cast)
    first, second = opened(invitation), opened(invitation)
    assert join(first).status_code == 302
    assert join(second, "eve").status_code == 404
    assert second.get(PAGE).status_code == 404
    assert not User.objects.filter(username="eve").exists()


def test_two_requests_with_one_link_do_not_both_join(cast: Cast) -> None:
    invitation = invited(cast)
    accept_as_new(invitation=invitation, username="nina", password=GOOD)
    with pytest.raises(InvitationRefused, match="not open"):
        accept_as_new(invitation=invitation, username="eve", password=GOOD)


@pytest.mark.parametrize(
    "end", ["revoked", "renewed", "expired", "suspended", "off", "demoted", "deleted", "deactivated"]
)
def test_what_ends_a_link(cast: Cast, settings: Settings, end: str) -> None:
    boss = User.objects.create_user("boss")
    Membership.objects.create(tenant=cast.acme, user=boss, role="owner")
    invitation = invited(cast, role="admin", actor=boss)
    token = token_of(invitation)
    assert invitation_of(token) == invitation
    if end == "revoked":
        revoke(invitation=invitation, actor=cast.amy)
    elif end == "renewed":
        renew(invitation=invitation, actor=cast.amy)
    elif end == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "suspended":
        type(cast.acme).objects.filter(pk=cast.acme.pk).update(is_active=False)
    elif end == "off":
        settings.ASSISTANT_INVITATION_DAYS = 0
    elif end == "demoted":
        Membership.objects.filter(user=boss).update(role="member")
    elif end == "deleted":
        boss.delete()
    else:
        User.objects.filter(pk=boss.pk).update(is_active=False)
    assert invitation_of(token) is None


@pytest.mark.parametrize("token", ["", "1.1", "1.1:forged", Signer(salt="another").sign("1.1")])
def test_a_forged_link_does_not_work(cast: Cast, token: str) -> None:
    invited(cast)
    client = Client()
    client.get(PAGE, {"token": token})
    assert client.get(PAGE).status_code == 404


def test_an_account_of_the_address_joins_after_signing_in(cast: Cast) -> None:
    invitation = invited(cast, "Oscar@example.com")
    user = oscar_at(cast, "oscar@Example.com")
    stranger = opened(invitation)
    page = stranger.get(PAGE).content.decode()
    assert "/accounts/login/?next=%2Faccounts%2Finvitation%2F" in page
    assert 'name="username"' not in page
    assert opened(invitation, user).post(PAGE).headers["Location"] == "/t/acme/"
    assert Membership.objects.get(user=user).tenant == cast.acme
    assert not user.has_perm("x")


def test_nobody_joins_with_an_account_of_another_address(cast: Cast) -> None:
    invitation = invited(cast)
    client = opened(invitation, oscar_at(cast, "oscar@example.com"))
    assert "whose e-mail address is another" in client.get(PAGE).content.decode()
    client.post(PAGE)
    assert not Membership.objects.filter(user=cast.oscar).exists()
    with pytest.raises(InvitationRefused, match="another e-mail"):
        accept(invitation=invitation, user=cast.oscar)


def test_an_account_without_an_address_is_of_no_address(cast: Cast) -> None:
    Invitation.objects.filter(pk=invited(cast).pk).update(email="")
    with pytest.raises(InvitationRefused, match="another e-mail"):
        accept(invitation=Invitation.objects.get(), user=cast.oscar)


def test_no_second_account_is_made_for_an_address(cast: Cast) -> None:
    invitation = invited(cast)
    oscar_at(cast, "NINA@example.com")
    with pytest.raises(InvitationRefused, match="sign in to join"):
        accept_as_new(invitation=invitation, username="nina", password=GOOD)


@pytest.mark.parametrize(("name", "password"), [("nina", "1234"), ("no spaces!", GOOD), ("", GOOD), ("ALICE", GOOD)])
def test_a_wrong_account_is_a_form_error(cast: Cast, name: str, password: str) -> None:
    answer = join(opened(invited(cast)), name, password)
    assert (answer.status_code, b'role="alert"' in answer.content) == (200, True)
    assert Invitation.objects.get().accepted_at is None


@pytest.mark.parametrize("is_sent", [True, False])
def test_only_a_link_that_was_sent_proves_the_address(cast: Cast, is_sent: bool) -> None:
    invitation = invited(cast)
    Invitation.objects.update(is_sent=is_sent)
    join(opened(invitation))
    assert User.objects.get(username="nina").email == ("nina@example.com" if is_sent else "")


def test_posts_need_the_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get(PAGE, {"token": token_of(invited(cast))})
    assert join(client).status_code == 403


def test_an_erased_persons_invitations_are_deleted(cast: Cast) -> None:
    join(opened(invited(cast)))
    nina = User.objects.get(username="nina")
    nina.email = "nina@example.com"
    nina.save()
    other = invite(tenant=cast.globex, email="Nina@example.com", role="member", actor=cast.greta)
    kept = invite(tenant=cast.globex, email="tom@example.com", role="member", actor=cast.greta)
    erase_user(user=nina, actor=cast.root)
    assert list(Invitation.objects.all()) == [kept]
    assert other.email not in str(list(AuditEntry.objects.values_list("target", flat=True)))
