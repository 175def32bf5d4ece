"""What django-allauth asks its project about second factors: how secrets are stored, and which factor may go."""

from __future__ import annotations

from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from django.utils.translation import gettext

from assistant.contrib.sign_in.services.factors import may_remove
from assistant.models.fields import decrypted, encrypted


class FactorAdapter(DefaultMFAAdapter):
    """Second factors."""

    def encrypt(self, text: str) -> str:
        return encrypted(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypted(encrypted_text, "the second factor")

    def can_delete_authenticator(self, authenticator: Any) -> bool:
        return may_remove(authenticator.user, authenticator)

    def generate_authenticator_name(self, user: Any, type: Any) -> str:  # noqa: A002 - allauth's name
        return gettext("Passkey")
