"""`manage.py assistant_rotate_encryption`: encrypts stored secrets again with the first of the encryption keys."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from assistant.contrib.deploy import key_rotation
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Encrypt stored secrets again with the first of ASSISTANT_FIELD_ENCRYPTION_KEYS; safe to stop and to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        unreadable = 0
        for field in key_rotation.rotate():
            self.stdout.write(f"{field.label}: {field.renewed} encrypted again, {field.current} were up to date")
            unreadable += field.unreadable
        if unreadable:
            raise CommandError(
                f"{unreadable} values cannot be read with any of ASSISTANT_FIELD_ENCRYPTION_KEYS; find their key."
            )
        self.stdout.write("Every secret is encrypted with the first key; the others can be removed.")
