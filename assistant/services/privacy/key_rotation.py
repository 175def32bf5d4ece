"""Encrypts what is stored encrypted anew, with the first of FIELD_ENCRYPTION_KEYS, so that older keys can go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import F, TextField, Value
from django.db.models.functions import Cast

from assistant.models.fields import EncryptedTextField, cipher

BATCH = 200


@dataclass(slots=True)
class Rotation:
    """What came of one field: values that were encrypted anew, that had the first key already, that no key reads."""

    label: str
    renewed: int = 0
    current: int = 0
    unreadable: int = 0


def encrypted_fields() -> list[tuple[type[models.Model], str]]:
    """Every field of every model whose values are encrypted at rest."""
    return [
        (model, field.name)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
        if isinstance(field, EncryptedTextField) and not model._meta.proxy
    ]


def rotate() -> Iterator[Rotation]:
    """Encrypt every value anew that the first key did not encrypt, field by field.

    It can be stopped and run again at any time: what is done is found done. A value that is stored meanwhile is
    encrypted with the first key already, and is left as it is.
    """
    for model, name in encrypted_fields():
        yield _rotate(model, name)


def _rotate(model: type[models.Model], name: str) -> Rotation:
    done, first, every = Rotation(f"{model._meta.label}.{name}"), Fernet(settings.FIELD_ENCRYPTION_KEYS[0]), cipher()
    # Of all tenants: the keys are the deployment's. As plain text, which a field would decrypt.
    rows = model._base_manager.annotate(stored=Cast(F(name), TextField())).exclude(stored="").order_by("pk")
    last: Any = None
    while batch := list((rows if last is None else rows.filter(pk__gt=last)).values_list("pk", "stored")[:BATCH]):
        for pk, stored in batch:
            if _reads(first, stored):
                done.current += 1
                continue
            try:
                renewed = every.rotate(stored.encode()).decode()
            except InvalidToken:
                done.unreadable += 1
                continue
            done.renewed += rows.filter(pk=pk, stored=stored).order_by().update(**{name: Value(renewed, TextField())})
        last = batch[-1][0]
    return done


def _reads(key: Fernet, stored: str) -> bool:
    try:
        key.decrypt(stored.encode())
    except InvalidToken:
        return False
    return True
