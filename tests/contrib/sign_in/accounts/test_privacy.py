"""Export, erasure and key rotation know the rows of second factors."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile

from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.test import Client, override_settings

from assistant.contrib.data_exports.exports import export_tenant, export_user
from assistant.contrib.deploy.key_rotation import rotate
from assistant.contrib.row_level_security.protected_tables import protected_tables
from assistant.models import AuditEntry
from assistant.services.privacy.erasure import erase_tenant, erase_user
from tests.base import Cast
from tests.contrib.sign_in.accounts.steps import SECRET, code_of, codes_of, give_app, sign_in


def factors_in(export: Any, **who: Any) -> tuple[list[dict[str, Any]], str]:
    file = io.BytesIO()
    export(to=file, actor=None, **who)
    with ZipFile(file) as archive:
        everything = "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
        lines = archive.read("mfa.Authenticator.jsonl").decode().splitlines()
    return [json.loads(line) for line in lines], everything


def test_an_export_has_names_and_dates_without_secrets(cast: Cast) -> None:
    give_app(cast.alice)
    Authenticator.objects.create(user=cast.alice, type="webauthn", data={"name": "Laptop", "credential": {"id": "x9"}})
    give_app(cast.mallory)
    rows, everything = factors_in(export_user, user=cast.alice)
    assert [(row["type"], row["name"]) for row in rows] == [
        ("totp", None), ("recovery_codes", None), ("webauthn", "Laptop"),
    ]  # fmt: skip
    assert set(rows[0]) == {"id", "user_id", "type", "created_at", "last_used_at", "name"}
    assert not any(secret in everything for secret in (SECRET, "gAAAA", "x9", *codes_of(cast.alice)))


def test_an_export_of_a_tenant_has_no_factors_of_people(cast: Cast) -> None:
    give_app(cast.alice)
    file = io.BytesIO()
    export_tenant(tenant=cast.acme, actor=None, to=file)
    with ZipFile(file) as archive:
        assert "mfa.Authenticator.jsonl" not in archive.namelist()


def test_an_erasure_deletes_them(cast: Cast) -> None:
    give_app(cast.alice)
    give_app(cast.mallory)
    sign_in(Client(), cast.alice)
    counts = erase_user(user=cast.alice, actor=None)
    assert counts["mfa.Authenticator"] == 2
    assert set(Authenticator.objects.values_list("user", flat=True)) == {cast.mallory.pk}
    assert "alice" not in str(list(AuditEntry.objects.values_list("target", "details")))
    assert erase_tenant(tenant=cast.globex, actor=None)["mfa.Authenticator"] == 2
    assert not Authenticator.objects.exists()


def test_a_rotation_renews_their_secrets(cast: Cast) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[old]):
        give_app(cast.alice)
        codes = codes_of(cast.alice)
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[new, old]):
        results = [{each.label: each for each in rotate()}["mfa.Authenticator.data"] for _ in range(2)]
    assert [(each.renewed, each.current, each.unreadable) for each in results] == [(2, 0, 0), (0, 2, 0)]
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[new]):
        assert codes_of(cast.alice) == codes
        assert Authenticator.objects.get(user=cast.alice, type="totp").wrap().validate_code(code_of())
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[old]):
        assert {each.label: each for each in rotate()}["mfa.Authenticator.data"].unreadable == 2


def test_their_table_needs_no_policy_because_people_belong_to_no_tenant() -> None:
    assert not {one.table for one in protected_tables()} & {"mfa_authenticator", "account_emailaddress", "auth_user"}
