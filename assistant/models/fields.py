"""Custom model fields, encrypted text and URLs that this server opens; choices that clients may name too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.validators import URLValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.toolkit.text import stripped

if TYPE_CHECKING:
    TextField = models.TextField[str, str]
    URLField = models.URLField[str, str]
else:
    TextField = models.TextField
    URLField = models.URLField


def cipher() -> MultiFernet:
    """Return the cipher of ASSISTANT_FIELD_ENCRYPTION_KEYS: the first key encrypts, all of them decrypt."""
    return MultiFernet([Fernet(key) for key in settings.ASSISTANT_FIELD_ENCRYPTION_KEYS])


def encrypted(text: str) -> str:
    """Return text as it is stored: encrypted with the first key."""
    return cipher().encrypt(text.encode()).decode()


def decrypted(stored: str, what: str) -> str:
    """Return the text of a stored value. Raises `ImproperlyConfigured`, which names `what`, if no key decrypts it."""
    try:
        return cipher().decrypt(stored.encode()).decode()
    except InvalidToken as exc:
        raise ImproperlyConfigured(f"ASSISTANT_FIELD_ENCRYPTION_KEYS has no key that decrypts {what}") from exc


class EncryptedTextField(TextField):
    """Text stored encrypted; the empty string is stored as it is, a mapping as JSON.

    Reading a value that none of ASSISTANT_FIELD_ENCRYPTION_KEYS can decrypt raises `ImproperlyConfigured`.
    """

    def to_python(self, value: Any) -> Any:
        return json.dumps(dict(value)) if isinstance(value, Mapping) else super().to_python(value)

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypted(text) if text else text

    def from_db_value(self, value: str | None, expression: object, connection: object) -> str | None:
        return decrypted(value, f"{self.model.__name__}.{self.name}") if value else value


class AddressValidator(URLValidator):
    """Accepts http(s) URLs on any host; Django's validator requires a dot, which internal host names often lack."""

    schemes = ["http", "https"]
    host_re = r"\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*\.?"
    regex = re.compile(
        r"[a-z]+://"
        r"(?:[^\s:@/]+(?::[^\s:@/]*)?@)?"
        rf"(?:{URLValidator.ipv6_re}|{host_re})"
        r"(?::[0-9]{1,5})?"
        r"(?:[/?#]\S*)?\Z",
        re.IGNORECASE,
    )


class AddressField(URLField):
    """A URL that this server opens; `UrlGuard` decides whether it may. What copying adds around it is removed."""

    default_validators = [AddressValidator()]

    def to_python(self, value: Any) -> Any:
        return super().to_python(stripped(value) if isinstance(value, str) else value)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        if isinstance(value, str):  # and no expression
            value = stripped(value)
            setattr(model_instance, self.attname, value)
        return value

    def deconstruct(self) -> Any:
        # Migrations need the column only, so they do not depend on this class.
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.URLField", args, kwargs


def list_field(*, default: Callable[[], list[Any]] = list, **options: Any) -> models.JSONField[Any, Any]:
    """Return a field for a list.

    The database has a default too: processes of the version before it still insert rows during a rolling restart.
    """
    return models.JSONField(default=default, db_default=models.Value([], models.JSONField()), blank=True, **options)


def is_stored(field: str) -> models.Case:
    """Return the query expression of whether an encrypted field has a value; it is not decrypted for this."""
    given = models.When(~models.Q(**{field: ""}), then=models.Value(True))
    return models.Case(given, default=models.Value(False), output_field=models.BooleanField())


def sources_field(**options: Any) -> models.JSONField[Any, Any]:
    """Return a field for the names of sources of untrusted text."""
    return list_field(**options)


class WhenBusy(models.TextChoices):
    """What happens to an input of a conversation that is being answered."""

    REFUSE = "refuse", _("Refused")
    QUEUE = "queue", _("Waits for the answer")
    REPLACE = "replace", _("Stops the answer and takes its place")


class OnDisconnect(models.TextChoices):
    """What happens to a run whose client has disconnected."""

    CONTINUE = "continue", _("It goes on")
    CANCEL = "cancel", _("It is stopped")
