"""Keys and secrets can be entered in forms but are never shown; API keys are shown once."""

from __future__ import annotations

import re
import time
from unittest.mock import patch

from django.db import connection
from django.test import Client
from pytest_django import Settings

from assistant.contrib.panel.admin.base.show_secret_once import new_nonce
from assistant.models import ApiKey, AuditEntry, Membership, Provider, ToolSetting
from assistant.services.runs.idempotency import LIFETIME
from assistant.services.tenancy.members import create_api_key, member_by_key
from assistant.toolkit.guards.internal_hosts import parse_internal_host
from tests.base import Cast
from tests.factories import make_provider, switch_tool

SECRET = "sk-canary-553120"
PROVIDERS = "/admin/assistant/provider/"
SETTINGS = "/admin/assistant/toolsetting/"
KEYS = "/admin/assistant/apikey/"


def provider_form(cast: Cast, **fields: object) -> dict[str, object]:
    form = {"tenant": cast.acme.pk, "name": "Own", "base_url": "https://a.example.com/v1", "default_model": "m"}
    return {**form, "new_api_key": "", **fields}


def stored(cast: Cast) -> Provider:
    return Provider.objects.get(tenant=cast.acme)


def test_a_providers_key_is_stored_encrypted_and_never_shown(amys: Client, cast: Cast) -> None:
    amys.post(f"{PROVIDERS}add/", provider_form(cast, new_api_key=SECRET))
    assert stored(cast).api_key == SECRET
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM assistant_provider")
        assert SECRET not in str(cursor.fetchall())
    for page in ("", f"{stored(cast).pk}/change/", f"{stored(cast).pk}/history/", f"{stored(cast).pk}/delete/"):
        assert SECRET not in amys.get(PROVIDERS + page).content.decode()
    assert SECRET not in str(list(AuditEntry.objects.values()))


def test_an_empty_field_keeps_the_key_and_the_checkbox_deletes_it(amys: Client, cast: Cast) -> None:
    row = make_provider(cast.acme, base_url="https://a.example.com/v1", api_key=SECRET)
    amys.post(f"{PROVIDERS}{row.pk}/change/", provider_form(cast, name="Renamed"))
    assert (stored(cast).name, stored(cast).api_key) == ("Renamed", SECRET)
    amys.post(f"{PROVIDERS}{row.pk}/change/", provider_form(cast, clear_api_key="on"))
    assert stored(cast).api_key == ""


def test_a_stored_key_is_not_sent_to_a_new_address(amys: Client, cast: Cast) -> None:
    row = make_provider(cast.acme, base_url="https://a.example.com/v1", api_key=SECRET)
    moved = provider_form(cast, base_url="https://thief.example.com/v1")
    assert amys.post(f"{PROVIDERS}{row.pk}/change/", moved).status_code == 200
    assert stored(cast).base_url == "https://a.example.com/v1"
    assert amys.post(f"{PROVIDERS}{row.pk}/change/", {**moved, "new_api_key": "sk-other"}).status_code == 302
    assert stored(cast).api_key == "sk-other"


def setting_form(cast: Cast, **fields: object) -> dict[str, object]:
    form = {"tenant": cast.acme.pk, "assistant": "", "tool": "get_weather", "policy": "on", "config": "{}"}
    return {**form, "new_secrets": "", **fields}


def test_a_tools_secrets_are_never_shown(amys: Client, cast: Cast) -> None:
    setting = switch_tool(cast.acme, "crm__of_an_outside_server")
    amys.post(f"{SETTINGS}{setting.pk}/change/", setting_form(cast, new_secrets=f'{{"token": "{SECRET}"}}'))
    setting.refresh_from_db()
    assert SECRET in setting.secrets
    for page in ("", f"{setting.pk}/change/", f"{setting.pk}/history/", "switchboard/acme/"):
        assert SECRET not in amys.get(SETTINGS + page).content.decode()
    amys.post(f"{SETTINGS}{setting.pk}/change/", setting_form(cast, policy="ask"))
    setting.refresh_from_db()
    assert (setting.policy, SECRET in setting.secrets) == ("ask", True)


def test_settings_a_tool_does_not_declare_are_refused(amys: Client, cast: Cast) -> None:
    assert amys.post(f"{SETTINGS}add/", setting_form(cast, tool="made_up")).status_code == 200
    assert not ToolSetting.objects.exists()
    setting = switch_tool(cast.acme, "crm__of_an_outside_server")
    for wrong in ({"config": "[]"}, {"config": "{"}, {"new_secrets": "no json"}):
        assert amys.post(f"{SETTINGS}{setting.pk}/change/", setting_form(cast, **wrong)).status_code == 200
    setting.refresh_from_db()
    assert (setting.config, setting.secrets) == ({}, "")


def test_a_second_switch_for_one_tool_is_refused(amys: Client, cast: Cast) -> None:
    amys.post(f"{SETTINGS}add/", setting_form(cast))
    assert amys.post(f"{SETTINGS}add/", setting_form(cast)).status_code == 200
    assert ToolSetting.objects.count() == 1


def new_key(cast: Cast, **fields: object) -> dict[str, object]:
    form = {"tenant": cast.acme.pk, "user": cast.alice.pk, "name": "backend", "scopes": ["chat", "read"]}
    return {**form, "expires_at_0": "", "expires_at_1": "", "once": new_nonce(), **fields}


def test_a_key_is_shown_once_and_works(amys: Client, cast: Cast) -> None:
    answer = amys.post(f"{KEYS}add/", new_key(cast))
    (key,) = re.findall(r"ta_[\w-]{40,}", answer.content.decode())
    assert "no-store" in answer.headers["Cache-Control"]
    member = member_by_key(key=key)
    assert member is not None
    assert (member.user.username, member.scopes) == ("alice", {"chat", "read"})
    row = ApiKey.objects.get()
    for page in ("", f"{row.pk}/change/", f"{row.pk}/history/"):
        assert key not in amys.get(KEYS + page).content.decode()
    assert key not in str([*AuditEntry.objects.values(), *ApiKey.objects.values()])


def test_a_repeated_form_creates_no_second_key(amys: Client, cast: Cast) -> None:
    form = new_key(cast, once=amys.get(f"{KEYS}add/").context["adminform"].form["once"].value())
    amys.post(f"{KEYS}add/", form)
    again = amys.post(f"{KEYS}add/", form, follow=True)
    assert again.redirect_chain == [(KEYS, 302)]
    assert b"This was already created; a secret is shown only once." in again.content
    assert ApiKey.objects.count() == AuditEntry.objects.filter(action="apikey.add").count() == 1


def test_a_form_without_a_valid_nonce_creates_no_key(amys: Client, cast: Cast) -> None:
    yesterday = time.time() - LIFETIME.total_seconds() - 1
    with patch("time.time", return_value=yesterday):
        stale = new_nonce()
    for nonce in (stale, "made-up", ""):
        assert amys.post(f"{KEYS}add/", new_key(cast, once=nonce)).status_code == 200
    assert not ApiKey.objects.exists()


def test_an_expired_key_cannot_be_created(amys: Client, cast: Cast) -> None:
    answer = amys.post(f"{KEYS}add/", new_key(cast, expires_at_0="2020-01-01", expires_at_1="00:00:00"))
    assert b"This time is in the past" in answer.content
    assert not ApiKey.objects.exists()
    amys.post(f"{KEYS}add/", new_key(cast, expires_at_0="2126-01-01", expires_at_1="00:00:00"))
    assert ApiKey.objects.get().expires_at is not None


def test_a_key_is_for_members_only(root: Client, cast: Cast) -> None:
    assert root.post(f"{KEYS}add/", new_key(cast, user=cast.mallory.pk)).status_code == 200
    assert not ApiKey.objects.exists()


def test_a_tenants_admin_cannot_create_a_key_for_a_superuser(amys: Client, root: Client, cast: Cast) -> None:
    Membership.objects.create(tenant=cast.acme, user=cast.root, role=Membership.Role.MEMBER)
    assert amys.post(f"{KEYS}add/", new_key(cast, user=cast.root.pk)).status_code == 200
    assert not ApiKey.objects.exists()
    root.post(f"{KEYS}add/", new_key(cast, user=cast.root.pk))
    assert ApiKey.objects.get().user == cast.root


def test_a_revoked_key_gives_no_access(amys: Client, cast: Cast) -> None:
    row, key = create_api_key(tenant=cast.acme, user=cast.alice, name="backend")
    amys.post(f"{KEYS}{row.pk}/revoke/")
    assert member_by_key(key=key) is None
    assert AuditEntry.objects.filter(action="apikey.revoke", actor=cast.amy).count() == 1


def test_the_action_revokes_selected_keys_but_not_a_rivals(amys: Client, cast: Cast) -> None:
    own, _ = create_api_key(tenant=cast.acme, user=cast.alice, name="own")
    rival, _ = create_api_key(tenant=cast.globex, user=cast.mallory, name="rival")
    amys.post(KEYS, {"action": "revoke", "_selected_action": [own.pk, rival.pk]})
    assert amys.post(f"{KEYS}{rival.pk}/revoke/").status_code == 404
    assert list(ApiKey.objects.filter(revoked_at=None)) == [rival]


def test_a_keys_scopes_cannot_be_changed(root: Client, cast: Cast) -> None:
    row, _ = create_api_key(tenant=cast.acme, user=cast.alice, name="backend")
    before = ApiKey.objects.values().get()
    changed = new_key(cast, name="other", scopes=["tools"], user=cast.amy.pk, expires_at_0="2030-01-01", hashed="x")
    root.post(f"{KEYS}{row.pk}/change/", changed)
    assert ApiKey.objects.values().get() == before


def test_a_keys_limits_can_be_changed(amys: Client, cast: Cast) -> None:
    amys.post(f"{KEYS}add/", new_key(cast, requests_per_minute=5))
    row = ApiKey.objects.get()
    assert (row.requests_per_minute, row.requests_per_day) == (5, None)
    assert amys.post(f"{KEYS}{row.pk}/change/", {"requests_per_minute": 0}).status_code == 200
    amys.post(f"{KEYS}{row.pk}/change/", {"requests_per_minute": "", "requests_per_day": 7})
    row.refresh_from_db()
    assert (row.requests_per_minute, row.requests_per_day) == (None, 7)


def test_a_tenants_provider_must_be_on_the_internet(amys: Client, root: Client, cast: Cast) -> None:
    for inside in ("http://a.example.com/v1", "https://10.0.0.1/v1", "https://169.254.169.254/", "https://0x7f.1/"):
        answer = amys.post(f"{PROVIDERS}add/", provider_form(cast, base_url=inside))
        assert answer.status_code == 200
    assert not Provider.objects.exists()
    root.post(f"{PROVIDERS}add/", provider_form(cast, tenant="", base_url="http://10.0.0.1:8000/v1"))
    assert Provider.objects.get().tenant is None


def test_a_tenants_provider_may_be_a_listed_internal_host(amys: Client, cast: Cast, settings: Settings) -> None:
    settings.ASSISTANT_INTERNAL_HOSTS = (parse_internal_host("vllm:8000"),)
    amys.post(f"{PROVIDERS}add/", provider_form(cast, base_url="http://vllm:8000/v1"))
    assert stored(cast).base_url == "http://vllm:8000/v1"
