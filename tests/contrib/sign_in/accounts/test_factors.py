"""People set up, see and remove their second factors on a page of their own, after confirming who they are."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from assistant.models import AuditEntry
from tests.base import PASSWORD, Cast
from tests.contrib.sign_in.accounts.steps import (
    ADD_APP,
    ADD_PASSKEY,
    CODES,
    CONFIRM,
    CONFIRM_BY_CODE,
    FACTORS,
    REMOVE_APP,
    SECRET,
    WRONG,
    code_of,
    codes_of,
    confirm,
    enter_password,
    give_app,
    sign_in,
)

NEW_CODES, CODES_FILE = f"{CODES}new/", f"{CODES}file/"


@pytest.fixture
def alice_page(cast: Cast) -> Client:
    """Alice, signed in without a factor."""
    client = Client()
    enter_password(client, "alice")
    return client


def kinds(user: Any) -> set[str]:
    return set(Authenticator.objects.filter(user=user).values_list("type", flat=True))


def actions() -> list[str]:
    rows = AuditEntry.objects.filter(action__startswith="signin.factor").order_by("pk")
    return [f"{row.action} {row.details['factor']}" for row in rows]


def passkey(user: Any, name: str = "Laptop") -> Authenticator:
    return Authenticator.objects.create(user=user, type="webauthn", data={"name": name, "credential": {}})


@pytest.mark.parametrize("page", [FACTORS, ADD_APP, REMOVE_APP, ADD_PASSKEY, CODES, NEW_CODES, CODES_FILE])
def test_the_pages_are_for_people_who_are_signed_in(page: str, cast: Cast) -> None:
    for answer in (Client().get(page), Client().post(page, {"code": WRONG})):
        assert answer.url.startswith("/accounts/login/")


def test_an_app_is_set_up(transactional_db: None, alice_page: Client, cast: Cast) -> None:
    assert alice_page.get(ADD_APP).url == f"{CONFIRM}?next={quote(ADD_APP, safe='')}"
    confirm(alice_page, ADD_APP)
    page = alice_page.get(ADD_APP)
    secret = page.context["form"].secret
    assert "data:image/svg+xml;base64," in page.content.decode() and secret in page.content.decode()
    assert "Incorrect code" in alice_page.post(ADD_APP, {"code": WRONG}).content.decode()
    assert alice_page.post(ADD_APP, {"code": code_of(secret)}).url == CODES
    shown = alice_page.get(CODES).content.decode()
    assert all(code in shown for code in codes_of(cast.alice))
    assert alice_page.get(CODES_FILE).content.decode().split() == codes_of(cast.alice)
    assert kinds(cast.alice) == {"totp", "recovery_codes"}
    assert actions() == ["signin.factor_added totp", "signin.factor_added recovery_codes"]
    assert "Set up on" in alice_page.get(FACTORS).content.decode()


def test_an_app_is_removed_with_its_recovery_codes(cast: Cast) -> None:
    give_app(cast.alice)
    client = sign_in(Client(), cast.alice)
    assert client.post(REMOVE_APP).url.startswith(CONFIRM)
    assert kinds(cast.alice) == {"totp", "recovery_codes"}
    # What was asked for is done once it is confirmed.
    assert client.post(f"{CONFIRM}?next={REMOVE_APP}", {"password": PASSWORD}).url == FACTORS
    assert kinds(cast.alice) == set()
    assert actions()[1:] == ["signin.factor_removed totp", "signin.factor_removed recovery_codes"]
    assert client.get("/t/acme/").status_code == 200


def test_a_passkey_is_listed_and_removed(cast: Cast) -> None:
    give_app(cast.alice)
    key = passkey(cast.alice, "<Laptop>")
    client = sign_in(Client(), cast.alice)
    assert "&lt;Laptop&gt;" in client.get(FACTORS).content.decode()
    remove = f"{FACTORS}passkeys/{key.pk}/remove/"
    confirm(client, remove)
    assert client.post(remove).url == FACTORS
    assert kinds(cast.alice) == {"totp", "recovery_codes"}


def test_nobody_elses_passkey_is_removed(alice_page: Client, cast: Cast) -> None:
    key = passkey(cast.mallory)
    remove = f"{FACTORS}passkeys/{key.pk}/remove/"
    confirm(alice_page, remove)
    assert alice_page.post(remove).status_code == 404
    assert kinds(cast.mallory) == {"webauthn"}


@pytest.mark.parametrize("page", [ADD_APP, ADD_PASSKEY, CODES, NEW_CODES, CODES_FILE])
def test_a_sign_in_is_no_confirmation(page: str, cast: Cast) -> None:
    give_app(cast.alice)
    client = sign_in(Client(), cast.alice)
    if page == ADD_APP:
        Authenticator.objects.filter(user=cast.alice, type="totp").delete()
    assert client.get(page).url.startswith(CONFIRM)


def test_a_code_confirms_too(cast: Cast) -> None:
    give_app(cast.alice)
    client = sign_in(Client(), cast.alice)
    assert client.post(CONFIRM + f"?next={CODES}", {"password": "no"}).status_code == 200
    assert client.post(CONFIRM_BY_CODE + f"?next={CODES}", {"code": WRONG}).status_code == 200
    assert client.post(CONFIRM_BY_CODE + f"?next={CODES}", {"code": codes_of(cast.alice)[0]}).url == CODES
    assert client.get(CODES).status_code == 200
    assert actions()[-2:] == ["signin.factor_failure code", "signin.factor_used recovery_codes"]


def test_new_recovery_codes_replace_the_old_ones(transactional_db: None, cast: Cast) -> None:
    give_app(cast.alice)
    old = codes_of(cast.alice)
    client = sign_in(Client(), cast.alice)
    confirm(client, NEW_CODES)
    assert client.post(NEW_CODES).url == CODES
    assert not set(old) & set(codes_of(cast.alice))
    assert actions()[-1] == "signin.factor_renewed recovery_codes"


@pytest.mark.parametrize("mode", ["admins", "required"])
def test_the_last_factor_stays_where_one_is_required(mode: str, cast: Cast, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = mode
    give_app(cast.amy)
    key = passkey(cast.amy)
    client = sign_in(Client(), cast.amy)
    confirm(client)
    assert client.post(REMOVE_APP).status_code == 302
    assert client.post(f"{FACTORS}passkeys/{key.pk}/remove/").status_code == 302
    assert kinds(cast.amy) == {"webauthn", "recovery_codes"}
    give_app(cast.amy)
    Authenticator.objects.filter(pk=key.pk).delete()
    assert "deactivate" in client.post(REMOVE_APP).content.decode()
    assert kinds(cast.amy) == {"totp", "recovery_codes"}


def test_secrets_are_stored_encrypted(alice_page: Client, cast: Cast) -> None:
    confirm(alice_page, ADD_APP)
    secret = alice_page.get(ADD_APP).context["form"].secret
    alice_page.post(ADD_APP, {"code": code_of(secret)})
    stored = list(Authenticator.objects.values_list("data", flat=True))
    assert secret not in str(stored)
    assert {name for data in stored for name in data} >= {"secret", "seed"}
    assert all(str(data.get("secret", data.get("seed"))).startswith("gAAAA") for data in stored)
    assert secret != SECRET


def test_the_pages_have_no_inline_script_or_style(cast: Cast) -> None:
    give_app(cast.alice)
    client = sign_in(Client(), cast.alice)
    confirm(client)
    pages = [client.get(page) for page in (ADD_PASSKEY, FACTORS, REMOVE_APP, CODES, NEW_CODES, CONFIRM)]
    pages.append(Client().get("/accounts/login/"))
    for page in pages:
        text = page.content.decode()
        assert page.status_code == 200 and "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert not any(words in text for words in (" style=", " onclick=", "<style", "<script>"))
        assert text.count("<script ") == text.count("<script src=") + text.count('type="application/json"')
