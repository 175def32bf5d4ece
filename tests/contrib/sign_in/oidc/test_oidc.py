"""People sign in by OpenID Connect: who they are says a checked ID token, and who may come in a verified address."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from assistant.contrib.invitations.models import Invitation
from assistant.contrib.sign_in.checks import openid_connect
from assistant.models import AuditEntry, Membership, PersonSettings, Tenant
from tests.base import PASSWORD, Cast
from tests.contrib.sign_in.oidc.provider import CODE, KEY, OTHER_KEY, Provider
from tests.factories import make_user

pytestmark = pytest.mark.django_db
LEAVE, BACK = "/accounts/oidc/login/", "/accounts/oidc/callback/"
DORA = {"sub": "d-1", "email": "dora@acme.com", "email_verified": True, "name": "Dora Dee"}


def leave(client: Client, **fields: str) -> dict[str, str]:
    """Press the button; return what the browser is led to the provider with."""
    page = client.post(LEAVE, fields)
    assert page.status_code == 200, page
    address = page["Refresh"].removeprefix("0; url=")
    assert address == unescape(re.findall(r'href="(http://127[^"]+)"', page.content.decode())[0])
    return dict(parse_qsl(urlsplit(address).query))


def come_back(client: Client, idp: Provider, sent: dict[str, str], **claims: Any) -> Any:
    """Return to the site as somebody whom the provider describes by `claims`."""
    idp.challenge = sent["code_challenge"]
    idp.claims = {"nonce": sent["nonce"], **DORA, **claims}
    return client.get(BACK, {"code": CODE, "state": sent["state"]})


def sign_in(client: Client, idp: Provider, **claims: Any) -> Any:
    return come_back(client, idp, leave(client), **claims)


def who(client: Client) -> str | None:
    """Return the name of whoever is signed in."""
    pk = client.session.get("_auth_user_id")
    return None if pk is None else User.objects.get(pk=pk).username


@pytest.fixture
def domain(cast: Cast) -> Tenant:
    Tenant.objects.filter(pk=cast.acme.pk).update(email_domains="acme.com, acme.co.uk")
    return cast.acme


def invite(cast: Cast, email: str, **fields: Any) -> Invitation:
    until = timezone.now() + timedelta(days=1)
    return Invitation.objects.create(tenant=cast.globex, email=email, invited_by=cast.greta, expires_at=until, **fields)


def test_the_request_names_what_the_protocol_asks_for(client: Client, cast: Cast, idp: Provider) -> None:
    sent = leave(client)
    assert sent["redirect_uri"] == "http://testserver/accounts/oidc/callback/"
    assert (sent["response_type"], sent["code_challenge_method"]) == ("code", "S256")
    assert set(sent["scope"].split()) == {"openid", "profile", "email"}
    assert len(sent["nonce"]) == 64 and sent["nonce"] != leave(client)["nonce"]


def test_whoever_has_an_address_of_a_tenants_domain_becomes_a_member(
    client: Client, domain: Tenant, idp: Provider
) -> None:
    assert sign_in(client, idp).headers["Location"] == "/"
    user = User.objects.get(email="dora@acme.com")
    assert (who(client), user.has_usable_password(), user.is_staff) == (user.username, False, False)
    assert [(one.tenant, one.role) for one in Membership.objects.filter(user=user)] == [(domain, "member")]
    assert PersonSettings.objects.get(user=user).name == "Dora Dee"
    assert AuditEntry.objects.get(action="member.join").tenant == domain
    assert AuditEntry.objects.filter(action="signin.success", actor=user).exists()
    assert client.get("/t/acme/").status_code == 200
    assert client.get("/t/globex/").status_code == 404
    assert not SocialToken.objects.exists()


def test_the_same_person_comes_again(client: Client, domain: Tenant, idp: Provider) -> None:
    sign_in(client, idp)
    again = Client()
    sign_in(again, idp, email="dora.new@elsewhere.com", email_verified=False)
    assert who(again) == who(client) and User.objects.filter(username=who(client)).count() == 1


def test_who_was_removed_stays_removed(client: Client, domain: Tenant, idp: Provider) -> None:
    sign_in(client, idp)
    Membership.objects.filter(user__email="dora@acme.com").delete()
    sign_in(again := Client(), idp)
    assert again.get("/t/acme/").status_code == 404


def test_they_are_led_back_to_where_they_were(client: Client, domain: Tenant, idp: Provider) -> None:
    assert come_back(client, idp, leave(client, next="/t/acme/")).headers["Location"] == "/t/acme/"
    other = Client()
    assert come_back(other, idp, leave(other, next="https://evil.example/")).headers["Location"] == "/"


def tenants_of(client: Client) -> list[Tenant]:
    return [one.tenant for one in Membership.objects.filter(user__username=who(client)).order_by("pk")]


def test_who_is_invited_is_asked_and_joins_by_their_own_answer(client: Client, cast: Cast, idp: Provider) -> None:
    invite(cast, "Dora@acme.com")
    assert sign_in(client, idp).headers["Location"] == "/accounts/invitation/"
    assert who(client) and tenants_of(client) == []
    assert "Join Globex" in client.get("/accounts/invitation/").content.decode()
    assert client.post("/accounts/invitation/").headers["Location"] == "/t/globex/"
    assert tenants_of(client) == [cast.globex]
    assert Invitation.objects.get().accepted_by.username == who(client)  # type: ignore[union-attr]


def test_a_stranger_who_invites_an_address_of_another_tenant_gets_nobody(
    client: Client, domain: Tenant, cast: Cast, idp: Provider
) -> None:
    invitation = invite(cast, "dora@acme.com")
    sent = leave(client, next="/t/acme/")
    assert come_back(client, idp, sent).headers["Location"] == "/accounts/invitation/"
    assert tenants_of(client) == [domain]
    assert client.get("/t/globex/").status_code == 404
    page = client.get("/accounts/invitation/").content.decode()
    assert "Your address belongs to Acme. Globex is another organisation" in page
    assert client.post("/accounts/invitation/", {"decline": "1"}).headers["Location"] == "/t/acme/"
    assert tenants_of(client) == [domain]
    entry = AuditEntry.objects.get(action="invitation.decline")
    assert (entry.tenant, entry.target) == (cast.globex, invitation.email)
    # Nor are they asked again.
    assert sign_in(Client(), idp).headers["Location"] == "/"


def test_an_account_that_was_there_before_is_asked_too(
    client: Client, domain: Tenant, cast: Cast, idp: Provider
) -> None:
    sign_in(client, idp)
    invite(cast, "dora@acme.com")
    again = Client()
    assert sign_in(again, idp).headers["Location"] == "/accounts/invitation/"
    assert tenants_of(again) == [domain]


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email_verified": "false"},
        {"email_verified": 1},
        {"email": None},
        {"email": "dora@acme.com@evil.example"},
        {"email": "dora\x00@acme.com"},
        {"email": "d\N{LATIN SMALL LETTER DOTLESS I}na@acme.com"},
        {"email": "dora@evil.example"},
        {"email": "dora@notacme.com"},
        {"email": "dora@acme.com.evil.example"},
        {"email": "dora@sub.acme.com"},
    ],
)
def test_nobody_else_gets_an_account(client: Client, domain: Tenant, idp: Provider, claims: dict[str, Any]) -> None:
    before = User.objects.count()
    assert sign_in(client, idp, **claims).status_code == 403
    assert (who(client), User.objects.count(), SocialAccount.objects.count()) == (None, before, 0)


def test_a_suspended_tenants_domain_lets_nobody_in(client: Client, domain: Tenant, idp: Provider) -> None:
    Tenant.objects.filter(pk=domain.pk).update(is_active=False)
    assert sign_in(client, idp).status_code == 403


FORGED = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another client": {"aud": "somebody-else"},
    "another authorised party": {"aud": ["tenant-assistant", "else"], "azp": "else"},
    "an old token": {"exp": int(time.time()) - 3600},
    "no end": {"exp": None},
    "another nonce": {"nonce": "0" * 64},
    "no nonce": {"nonce": None},
    "no subject": {"sub": None},
}


@pytest.mark.parametrize("claims", FORGED.values(), ids=FORGED)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    client: Client, domain: Tenant, idp: Provider, claims: dict[str, Any]
) -> None:
    answer = sign_in(client, idp, **claims)
    assert (answer.status_code, who(client)) == (401, None)
    assert b"did not succeed" in answer.content
    assert not SocialAccount.objects.exists()


def test_a_token_of_another_key_is_refused(client: Client, domain: Tenant, idp: Provider) -> None:
    idp.key = OTHER_KEY
    assert sign_in(client, idp).status_code == 401
    idp.kid = None
    assert sign_in(client, idp).status_code == 401
    idp.key, idp.kid = KEY, "another"
    assert sign_in(client, idp).status_code == 401


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_without_a_providers_signature_is_refused(
    client: Client, domain: Tenant, idp: Provider, algorithm: str
) -> None:
    sent = leave(client)
    now = int(time.time())
    claims = {**DORA, "iss": idp.url, "aud": "tenant-assistant", "iat": now, "exp": now + 60, "nonce": sent["nonce"]}
    key = None if algorithm == "none" else str(idp.keys()["keys"][0]["n"])
    idp.id_token = jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "k1"})
    assert come_back(client, idp, sent).status_code == 401


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "x" * 20_000])
def test_what_is_no_token_is_refused(client: Client, domain: Tenant, idp: Provider, token: str) -> None:
    idp.id_token = token or "."
    assert sign_in(client, idp).status_code == 401


def test_metadata_of_another_issuer_are_refused(client: Client, domain: Tenant, idp: Provider) -> None:
    idp.issuer = "https://evil.example"
    assert client.post(LEAVE).status_code == 401


def test_a_provider_that_is_away_is_said(client: Client, domain: Tenant, idp: Provider, settings: Settings) -> None:
    sent = leave(client)
    settings.ASSISTANT_OIDC_ISSUER = "http://127.0.0.1:1"
    assert client.post(LEAVE).status_code == 401
    assert come_back(client, idp, sent).status_code == 401


def test_an_address_comes_from_the_user_info_of_the_same_person(client: Client, domain: Tenant, idp: Provider) -> None:
    idp.info = {**DORA, "sub": "somebody else"}
    assert sign_in(client, idp, email=None, email_verified=None).status_code == 401
    idp.info = dict(DORA)
    assert sign_in(client, idp, email=None, email_verified=None).status_code == 302
    assert who(client) is not None


def test_a_sign_in_is_answered_once_and_in_its_own_browser(client: Client, domain: Tenant, idp: Provider) -> None:
    sent = leave(client)
    assert come_back(Client(), idp, sent).status_code == 401
    assert come_back(client, idp, sent).status_code == 302
    again = Client()
    again.cookies = client.cookies
    assert come_back(again, idp, sent).status_code == 401


def test_who_cancels_is_back_at_sign_in(client: Client, cast: Cast, idp: Provider) -> None:
    sent = leave(client)
    answer = client.get(BACK, {"error": "access_denied", "state": sent["state"]})
    assert answer.headers["Location"] == "/accounts/login/"


def test_an_account_with_a_password_is_not_taken_over_by_its_address(
    client: Client, domain: Tenant, cast: Cast, idp: Provider
) -> None:
    cast.mallory.email = "dora@acme.com"
    cast.mallory.save()
    answer = sign_in(client, idp)
    assert (answer.status_code, who(client)) == (403, None)
    assert b"Sign in to it with its password" in answer.content
    cast.mallory.refresh_from_db()
    assert cast.mallory.check_password(PASSWORD)
    assert not SocialAccount.objects.exists()


def test_an_account_whose_address_was_proven_by_an_invitation_is_linked(
    client: Client, domain: Tenant, cast: Cast, idp: Provider
) -> None:
    cast.mallory.email = "dora@acme.com"
    cast.mallory.save()
    invite(cast, "dora@acme.com", accepted_by=cast.mallory, accepted_at=timezone.now(), is_sent=True)
    sign_in(client, idp, email_verified=False)
    assert who(client) is None
    sign_in(client, idp)
    assert who(client) == "mallory"
    cast.mallory.refresh_from_db()
    assert cast.mallory.check_password(PASSWORD)
    assert AuditEntry.objects.filter(action="signin.connected", actor=cast.mallory).exists()


@pytest.mark.parametrize("fields", [{"is_active": False}, {}])
def test_an_account_that_is_closed_or_not_alone_is_left_alone(
    client: Client, domain: Tenant, idp: Provider, fields: dict[str, Any]
) -> None:
    make_user(email="dora@acme.com", **fields)
    if not fields:
        make_user(email="Dora@acme.com")
    assert (sign_in(client, idp).status_code, who(client)) == (403, None)


def test_end_users_are_never_signed_in(client: Client, domain: Tenant, idp: Provider) -> None:
    user = make_user(email="dora@acme.com")
    Membership.objects.create(tenant=domain, user=user, role=Membership.Role.END_USER)
    assert (sign_in(client, idp).status_code, who(client)) == (403, None)


def test_a_member_connects_their_account_with_the_password(client: Client, cast: Cast, idp: Provider) -> None:
    client.force_login(cast.alice)
    assert "Connect with Acme ID" in client.get("/accounts/settings/").content.decode()
    wrong = client.post(LEAVE, {"process": "connect", "password": "wrong"}, follow=True)
    assert "nothing was connected" in wrong.content.decode()
    sent = leave(client, process="connect", password=PASSWORD)
    assert come_back(client, idp, sent, email_verified=False).headers["Location"] == "/accounts/settings/"
    assert "connected with Acme ID" in client.get("/accounts/settings/").content.decode()
    sign_in(other := Client(), idp, email_verified=False)
    assert who(other) == "alice"


@pytest.mark.parametrize("process", ["connect", "redirect"])
def test_the_password_is_asked_for_however_connecting_is_asked_for(
    process: str, client: Client, cast: Cast, idp: Provider
) -> None:
    client.force_login(cast.alice)
    answer = client.post(f"{LEAVE}?process={process}", {"password": "wrong"})
    assert answer.status_code == (302 if process == "connect" else 400)
    assert answer.headers.get("Location", "/accounts/settings/") == "/accounts/settings/"


DISCONNECT = "/accounts/oidc/disconnect/"


def test_a_member_disconnects_their_account_with_the_password(client: Client, cast: Cast, idp: Provider) -> None:
    client.force_login(cast.mallory)
    come_back(client, idp, leave(client, process="connect", password=PASSWORD))
    wrong = client.post(DISCONNECT, {"password": "wrong"}, follow=True).content.decode()
    assert "nothing was disconnected" in wrong and "Disconnect from Acme ID" in wrong
    done = client.post(DISCONNECT, {"password": PASSWORD}, follow=True).content.decode()
    assert "Your account is disconnected" in done and "Connect with Acme ID" in done
    assert not SocialAccount.objects.exists()
    assert AuditEntry.objects.get(action="signin.disconnected").actor == cast.mallory


def test_nobody_disconnects_what_they_alone_sign_in_with(client: Client, domain: Tenant, idp: Provider) -> None:
    sign_in(client, idp)
    assert "Disconnect" not in client.get("/accounts/settings/").content.decode()
    assert "could not sign in any more" in client.post(DISCONNECT, follow=True).content.decode()
    assert SocialAccount.objects.exists()


def test_disconnecting_needs_a_sign_in_and_the_token(client: Client, cast: Cast, idp: Provider) -> None:
    assert client.post(DISCONNECT).headers["Location"] == "/accounts/login/"
    assert client.get(DISCONNECT).status_code == 405
    assert Client(enforce_csrf_checks=True).post(DISCONNECT).status_code == 403


def test_an_identity_is_connected_with_one_account(client: Client, domain: Tenant, cast: Cast, idp: Provider) -> None:
    sign_in(client, idp)
    mallory = Client()
    mallory.force_login(cast.mallory)
    come_back(mallory, idp, leave(mallory, process="connect", password=PASSWORD))
    assert SocialAccount.objects.get().user.username == who(client) != "mallory"


def test_a_closed_account_stays_closed(client: Client, domain: Tenant, idp: Provider) -> None:
    sign_in(client, idp)
    User.objects.filter(email="dora@acme.com").update(is_active=False)
    answer = sign_in(other := Client(), idp)
    assert answer.headers["Location"] == "/accounts/inactive/" and who(other) is None


def test_a_second_factor_is_asked_for_as_well(
    client: Client, domain: Tenant, idp: Provider, settings: Settings
) -> None:
    sign_in(client, idp)
    user = User.objects.get(email="dora@acme.com")
    settings.ASSISTANT_SECOND_FACTOR = "optional"
    settings.ROOT_URLCONF = "tests.contrib.sign_in.oidc.both_urls"
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    TOTP.activate(user, generate_totp_secret())
    answer = sign_in(other := Client(), idp)
    assert answer.headers["Location"] == "/accounts/login/second-factor/" and who(other) is None


def test_the_sign_in_page_has_the_button(client: Client, cast: Cast, idp: Provider) -> None:
    page = client.get("/accounts/login/?next=/t/acme/").content.decode()
    assert "Sign in with Acme ID" in page and f'action="{LEAVE}"' in page
    assert client.get(LEAVE).headers["Location"] == "/accounts/login/"
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(LEAVE).status_code == 403


def test_it_is_off_by_default(client: Client, cast: Cast, idp: Provider, settings: Settings) -> None:
    settings.ASSISTANT_OIDC_ISSUER = ""
    assert "Acme ID" not in client.get("/accounts/login/").content.decode()
    assert client.post(LEAVE).status_code == client.get(BACK).status_code == 404


def test_only_operators_set_domains(cast: Cast) -> None:
    page = f"/admin/assistant/tenant/{cast.acme.pk}/change/"
    amys, roots = Client(), Client()
    amys.force_login(cast.amy)
    roots.force_login(cast.root)
    assert b'name="email_domains"' not in amys.get(page).content
    assert b'name="email_domains"' in roots.get(page).content


def test_what_is_missing_stops_the_start(idp: Provider, settings: Settings) -> None:
    assert openid_connect(None) == []
    settings.ASSISTANT_OIDC_CLIENT_ID = ""
    settings.ROOT_URLCONF = "config.urls"
    found = [problem.msg for problem in openid_connect(None)]
    assert found == [
        "ASSISTANT_OIDC_ISSUER is set, but ASSISTANT_OIDC_CLIENT_ID is not set.",
        "ASSISTANT_OIDC_ISSUER is set, but the URLs of sign-in are missing.",
    ]
