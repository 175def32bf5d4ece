"""Exports everything that belongs to a tenant or a user as a zip file: JSON lines for each model, and stored files.

Values that are stored encrypted or hashed (keys, passwords, credentials) are left out.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone

from assistant.models import Conversation, Message, Run, Tenant, ToolCall
from assistant.models.fields import EncryptedTextField
from assistant.services.privacy.ownership import deletable_models, is_hosts_own, owned_rows
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.host import get_host, host_row, settled

logger = logging.getLogger(__name__)

# Hashes are left out, because they can be attacked offline.
HASH_FIELDS = frozenset({"assistant.ApiKey.hashed"})
# State that providers send with messages for their own later use, such as signatures, which nobody else can read.
OPAQUE_FIELDS = frozenset({"assistant.Message.provider_state"})
# Fields of django-allauth, which a project may use by itself too: secrets of second factors, keys that were sent by
# e-mail, and access to other providers.
AUTHENTICATOR = "mfa.Authenticator"
ALLAUTH_SECRETS = frozenset(
    {
        f"{AUTHENTICATOR}.data",
        "account.EmailConfirmation.key",
        "socialaccount.SocialToken.token",
        "socialaccount.SocialToken.token_secret",
    }
)
# Parts of these that are exported nevertheless: the names of passkeys.
READ_FROM_SECRETS = {AUTHENTICATOR: {"name": KeyTextTransform("name", "data")}}
CHUNK_ROWS = 500
Tables = dict[type[models.Model], models.QuerySet[Any]]


def export_tenant(*, tenant: Tenant, actor: AbstractBaseUser | None, to: IO[bytes]) -> dict[str, int]:
    """Write a tenant's data and its users to a zip file; return the number of rows by model."""
    host = get_host()
    row = host_row(tenant)
    theirs = settled(host.export_tenant(row), "export_tenant") if host is not None and row is not None else {}
    own: Tables = {Tenant: Tenant.objects.filter(pk=tenant.pk)}
    tables = {**own, **_tables(Tenant, tenant.pk), get_user_model(): _people(tenant)}
    counts = _export(tables, theirs, to)
    audit_trail.record(actor=actor, action="tenant.export", target=f"tenant {tenant.pk}", tenant=tenant)
    return counts


def export_user(*, user: AbstractBaseUser, actor: AbstractBaseUser | None, to: IO[bytes]) -> dict[str, int]:
    """Write a user's data in all tenants to a zip file; return the number of rows by model."""
    person = get_user_model()._base_manager.filter(pk=user.pk)
    host = get_host()
    theirs = settled(host.export_user(user), "export_user") if host is not None and is_hosts_own(user) else {}
    counts = _export({**_tables(type(user), user.pk), type(user): person}, theirs, to)
    audit_trail.record(actor=actor, action="user.export", target=f"user {user.pk}")
    return counts


def _people(tenant: Tenant) -> models.QuerySet[Any]:
    return get_user_model()._base_manager.filter(assistant_memberships__tenant=tenant).distinct()


def _tables(root: type[models.Model], pk: Any) -> Tables:
    return {model: _kept(owned_rows(model, root, [pk])) for model in deletable_models(root)}


def _kept(rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Leave out temporary conversations, and what belongs to them."""
    path = _path_to_conversation(rows.model)
    return rows if path is None else rows.exclude(**{f"{path}is_temporary": True})


def _path_to_conversation(model: type[models.Model], longest: int = 3) -> str | None:
    """Return the shortest lookup of foreign keys from a model to conversations; None without one."""
    if model is Conversation:
        return ""
    keys = [field for field in model._meta.concrete_fields if isinstance(field, models.ForeignKey)]
    ours = [key for key in keys if key.related_model in (Conversation, Run, Message, ToolCall)] if longest else []
    found = [(key.name, _path_to_conversation(key.related_model, longest - 1)) for key in ours]
    paths = [f"{name}__{path}" for name, path in found if path is not None]
    return min(paths, key=len, default=None)


def _export(tables: Tables, theirs: Mapping[str, Iterable[Any]], to: IO[bytes]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    with ZipFile(to, "w", ZIP_DEFLATED) as archive:
        for model, rows in tables.items():
            label = model._meta.label
            chosen = rows.order_by("pk").annotate(**READ_FROM_SECRETS.get(label, {})).defer(*_omitted_fields(model))
            with archive.open(f"{label}.jsonl", "w", force_zip64=True) as lines:
                for row in chosen.iterator(chunk_size=CHUNK_ROWS):
                    lines.write(_line(_values(row)))
                    counts[label] += 1
        for model, rows in tables.items():
            for row, field in _binaries(model, rows):
                archive.writestr(_path(row, field), bytes(getattr(row, field.attname)))
            for row, field in _files(model, rows):
                _write_file(archive, row, field)
        for name, rows_or_values in theirs.items():
            # A project may name its file as one of ours.
            label = name if name not in counts else f"{name}-2"
            with archive.open(f"{label}.jsonl", "w", force_zip64=True) as lines:
                for one in rows_or_values:
                    lines.write(_line(_host_values(one)))
                    counts[label] += 1
        archive.writestr("manifest.json", _line({"made_at": timezone.now(), "rows": dict(counts)}))
    return dict(counts)


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, cls=DjangoJSONEncoder, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _omitted_fields(model: type[models.Model]) -> list[str]:
    """Return the fields that are left out of a row's line: secrets, and binary fields, which get files of their own."""
    return [
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedTextField | models.BinaryField)
        or f"{model._meta.label}.{field.name}" in HASH_FIELDS | OPAQUE_FIELDS | ALLAUTH_SECRETS
        or _is_left_out(model, field)
        or (model is get_user_model() and field.name == "password")
    ]


def _is_left_out(model: type[models.Model], field: models.Field[Any, Any]) -> bool:
    """Return whether the model of an app says that nobody reads a field, as one that is computed from others."""
    return field.name in getattr(model, "left_out_of_exports", ())


def _host_values(one: Any) -> dict[str, Any]:
    """Return the values of a row of the host project, or the mapping that it gives itself."""
    if not isinstance(one, models.Model):
        return dict(one)
    omitted = set(_omitted_fields(type(one)))
    return {
        field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields if field.name not in omitted
    }


def _values(row: models.Model) -> dict[str, Any]:
    without = row.get_deferred_fields()
    values = {f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields if f.attname not in without}
    with_files = (f for f in row._meta.concrete_fields if isinstance(f, models.BinaryField | models.FileField))
    binary = [f for f in with_files if not _is_left_out(type(row), f)]
    read = {name: getattr(row, name) for name in READ_FROM_SECRETS.get(row._meta.label, {})}
    return values | read | {field.attname: _path(row, field) for field in binary}


def _path(row: models.Model, field: models.Field[Any, Any]) -> str:
    return f"{row._meta.label}/{row.pk}-{field.name}"


def _binaries(
    model: type[models.Model], rows: models.QuerySet[Any]
) -> Iterator[tuple[models.Model, models.Field[Any, Any]]]:
    binary = (field for field in model._meta.concrete_fields if isinstance(field, models.BinaryField))
    fields = [field for field in binary if not _is_left_out(model, field)]
    if fields:
        for row in rows.order_by("pk").iterator(chunk_size=10):
            yield from ((row, field) for field in fields)


def _files(
    model: type[models.Model], rows: models.QuerySet[Any]
) -> Iterator[tuple[models.Model, models.Field[Any, Any]]]:
    fields = [field for field in model._meta.concrete_fields if isinstance(field, models.FileField)]
    if fields:
        for row in rows.order_by("pk").only(*(field.name for field in fields)).iterator(chunk_size=CHUNK_ROWS):
            yield from ((row, field) for field in fields)


def _write_file(archive: ZipFile, row: models.Model, field: models.Field[Any, Any]) -> None:
    stored = getattr(row, field.attname)
    try:
        with stored.open("rb") as content, archive.open(_path(row, field), "w", force_zip64=True) as to:
            for chunk in content.chunks():
                to.write(chunk)
    except (OSError, ValueError):
        # The row still names the file; an incomplete export is better than none.
        logger.warning("The file of %s %s is not stored any more", row._meta.label, row.pk, exc_info=True)
