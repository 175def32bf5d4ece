"""Stored secrets: none is readable in a dump, and after a rotation only the new key reads them."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test import override_settings

from assistant.contrib.deploy.key_rotation import encrypted_fields, rotate
from assistant.models.fields import EncryptedTextField
from tests.base import Cast
from tests.isolation.planting import Planter

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))
SECRET = "goldammer-5208"
OTHERS = ("mfa.", "assistant.Message.")
Rows = dict[tuple[type[models.Model], str], models.Model]


def plant_secrets(cast: Cast) -> Rows:
    """Create a row of each model with encrypted fields, and a different secret in each field."""
    existing = cast.acme.memberships.get(user=cast.alice), cast.support, cast.support.prompt_versions.get()
    planter = Planter(cast.acme, cast.alice, *existing)
    planted: Rows = {}
    for model, name in encrypted_fields():
        row = planter.row(model)
        setattr(row, name, f'{{"key": "{SECRET}-{model.__name__}-{name}"}}')
        row.save()
        planted[model, name] = row
    return planted


def unreadable_fields(planted: Rows) -> list[str]:
    """Return the fields whose secret cannot be read back."""
    return [
        f"{model.__name__}.{name}"
        for (model, name), row in planted.items()
        if getattr(model._base_manager.get(pk=row.pk), name) != getattr(row, name)
    ]


def dump() -> str:
    """Return a dump of the database, made by its own tool."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(f"file:{connection.settings_dict['NAME']}?mode=ro", uri=True)) as other:
            return "\n".join(other.iterdump())
    config = connection.settings_dict
    command = ["pg_dump", "--inserts", "-h", config["HOST"] or "127.0.0.1", "-p", str(config["PORT"] or 5432)]
    done = subprocess.run(
        [*command, "-U", config["USER"], config["NAME"]],
        env={"PGPASSWORD": config["PASSWORD"] or "", "PATH": "/usr/bin:/bin:/usr/local/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def database_files() -> bytes:
    """Return the bytes of SQLite's files, the write-ahead log included."""
    path = Path(connection.settings_dict["NAME"])
    files = [path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")]
    return b"".join(file.read_bytes() for file in files if file.exists())


def test_every_field_named_as_a_secret_is_encrypted() -> None:
    """A new field for a secret must not be forgotten. Hashes are not secrets."""
    from django.apps import apps

    named = {
        f"{model._meta.label}.{field.name}"
        for app in ("assistant", "tools")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.local_concrete_fields
        if isinstance(field, models.CharField | models.TextField)
        and any(word in field.name for word in ("secret", "api_key", "password", "headers", "token"))
    }
    found = {f"{model._meta.label}.{name}" for model, name in encrypted_fields()}
    assert named <= found and len(found) >= 6


@pytest.mark.django_db(transaction=True)
def test_a_dump_holds_no_secret(cast: Cast) -> None:
    plant_secrets(cast)
    whole = dump()
    assert cast.acme.slug in whole and SECRET not in whole
    if connection.vendor == "sqlite":
        assert cast.acme.slug.encode() in database_files() and SECRET.encode() not in database_files()


@pytest.mark.django_db(transaction=True)
def test_a_secret_in_plain_text_is_found_in_a_dump(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EncryptedTextField, "get_prep_value", models.TextField.get_prep_value)
    monkeypatch.setattr(EncryptedTextField, "from_db_value", lambda self, value, *_: value)
    plant_secrets(cast)
    assert SECRET in dump()
    if connection.vendor == "sqlite":
        assert SECRET.encode() in database_files()


@pytest.mark.django_db
def test_after_a_rotation_all_secrets_are_readable_and_the_old_key_reads_none(cast: Cast) -> None:
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[OLD]):
        planted = plant_secrets(cast)
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW, OLD]):
        # The others have tests of their own.
        assert {field.label: field.renewed for field in rotate() if not field.label.startswith(OTHERS)} == {
            f"{model._meta.label}.{name}": 1 for model, name in planted
        }
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW]):
        assert unreadable_fields(planted) == []
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[OLD]), pytest.raises(ImproperlyConfigured):
        unreadable_fields(planted)


@pytest.mark.django_db
def test_an_interrupted_rotation_continues(cast: Cast) -> None:
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[OLD]):
        planted = plant_secrets(cast)
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW, OLD]):
        half = rotate()
        for _ in range(2):
            next(half)
        half.close()
        counts = [(field.renewed, field.current) for field in rotate() if not field.label.startswith(OTHERS)]
    assert counts == [(0, 1), (0, 1), *[(1, 0)] * (len(planted) - 2)]


@pytest.mark.django_db
def test_the_command_fails_if_no_key_reads_a_value(cast: Cast, capsys: Any) -> None:
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[OLD]):
        planted = plant_secrets(cast)
    with (
        override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW]),
        pytest.raises(CommandError, match=f"{len(planted)} values"),
    ):
        call_command("assistant_rotate_encryption")
    with override_settings(ASSISTANT_FIELD_ENCRYPTION_KEYS=[NEW, OLD]):
        call_command("assistant_rotate_encryption")
    assert capsys.readouterr().out.endswith("the others can be removed.\n")
