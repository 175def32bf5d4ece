"""Operators see people's factors without secrets, and admit somebody who has lost one."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth import get_user
from django.core.management import CommandError, call_command
from django.test import Client

from assistant.models import AuditEntry
from tests.base import Cast
from tests.contrib.sign_in.accounts.steps import SECRET, enter_password, give_app, sign_in


@pytest.fixture
def page(cast: Cast) -> str:
    return f"/admin/auth/user/{cast.alice.pk}/change/"


def reset_of(page: str) -> str:
    return page.replace("/change/", "/second-factor/reset/")


@pytest.fixture
def root(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.root)
    return client


def test_a_command_removes_what_is_lost(cast: Cast, capsys: Any) -> None:
    give_app(cast.alice)
    give_app(cast.mallory)
    thief = sign_in(Client(), cast.alice)
    call_command("assistant_reset_second_factor", "alice")
    assert capsys.readouterr().out == "2 factors were removed.\n"
    assert get_user(thief).is_anonymous  # type: ignore[arg-type]
    assert enter_password(Client(), "alice").url == "/"
    assert Authenticator.objects.filter(user=cast.mallory).count() == 2
    row = AuditEntry.objects.get(action="signin.factor_reset")
    assert (row.actor, row.target, row.tenant, row.details) == (None, "alice", None, {"removed": 2})


def test_the_command_says_what_is_wrong(cast: Cast, second_factor: Any) -> None:
    with pytest.raises(CommandError, match="nobody"):
        call_command("assistant_reset_second_factor", "nobody")
    second_factor.ASSISTANT_SECOND_FACTOR = "off"
    with pytest.raises(CommandError, match="off"):
        call_command("assistant_reset_second_factor", "alice")


def test_the_page_of_a_user_lists_factors(root: Client, page: str, cast: Cast) -> None:
    give_app(cast.alice)
    Authenticator.objects.create(user=cast.alice, type="webauthn", data={"name": "<Laptop>", "credential": {}})
    text = root.get(page).content.decode()
    assert "Authenticator app (set up" in text and "Passkey: &lt;Laptop&gt;" in text and "Reset second factor" in text
    assert SECRET not in text and "gAAAA" not in text


def test_a_button_removes_them(root: Client, page: str, cast: Cast) -> None:
    give_app(cast.alice)
    thief = sign_in(Client(), cast.alice)
    assert root.get(reset_of(page)).status_code == 405
    assert root.post(reset_of(page)).url == page
    assert not Authenticator.objects.exists()
    assert get_user(thief).is_anonymous  # type: ignore[arg-type]
    row = AuditEntry.objects.get(action="signin.factor_reset")
    assert (row.actor, row.target) == (cast.root, "alice")


@pytest.mark.parametrize("name", ["amy", "greta", "alice"])
def test_only_operators_remove_them(name: str, page: str, cast: Cast) -> None:
    give_app(cast.alice)
    client = Client()
    client.force_login(getattr(cast, name))
    assert client.post(reset_of(page)).status_code in (302, 403, 404)
    assert Authenticator.objects.filter(user=cast.alice).count() == 2 or name == "alice"
    assert not AuditEntry.objects.filter(action="signin.factor_reset").exists()


def test_the_button_needs_a_token_of_the_page(page: str, cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.root)
    assert client.post(reset_of(page)).status_code == 403


def test_the_admin_has_no_pages_of_secrets() -> None:
    assert not [model for model in admin.site._registry if model._meta.app_label in ("mfa", "account")]


def test_with_it_off_the_page_is_as_before(root: Client, page: str, second_factor: Any) -> None:
    second_factor.ASSISTANT_SECOND_FACTOR = "off"
    second_factor.ROOT_URLCONF = "config.urls"
    text = root.get(page).content.decode()
    assert "econd factor" not in text
    assert root.post(reset_of(page)).status_code == 404
