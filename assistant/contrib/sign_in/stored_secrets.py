"""Re-encrypts the secrets of authenticator apps and recovery codes, which django-allauth keeps in JSON."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography.fernet import Fernet, InvalidToken
from django.apps import apps
from django.conf import settings
from django.db import transaction

from assistant.contrib.deploy.key_rotation import Rotation, can_decrypt
from assistant.contrib.sign_in.services.policy import AUTHENTICATOR
from assistant.models.fields import cipher

# Of an authenticator app, and of recovery codes.
SECRETS_OF_FACTORS = frozenset({"secret", "seed"})


def rotate() -> Iterator[Rotation]:
    """Re-encrypt what is not encrypted with the first key, where django-allauth keeps factors."""
    if apps.is_installed("allauth.mfa"):
        yield _rotate()


def _rotate() -> Rotation:
    model = apps.get_model(AUTHENTICATOR)
    result = Rotation(f"{model._meta.label}.data")
    first = Fernet(settings.ASSISTANT_FIELD_ENCRYPTION_KEYS[0])
    every = cipher()
    for pk in list(model._base_manager.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            row = model._base_manager.select_for_update().filter(pk=pk).first()
            for name in SECRETS_OF_FACTORS.intersection(row.data if row else ()):
                if can_decrypt(first, row.data[name]):
                    result.current += 1
                    continue
                try:
                    row.data[name] = every.rotate(row.data[name].encode()).decode()
                except InvalidToken:
                    result.unreadable += 1
                    continue
                row.save(update_fields=["data"])
                result.renewed += 1
    return result
