"""The Django app of passwords that are reset by e-mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from assistant.optional_apps import OptionalApp


class PasswordResetConfig(OptionalApp):
    name = "assistant.contrib.password_reset"
    label = "assistant_password_reset"
    verbose_name = "Assistant: forgotten passwords"

    def register(self) -> None:
        from assistant.pages import added_parts

        added_parts.add_part("sign-in", "assistant/password_reset/sign_in_link.html", context=_link)


def _link(request: HttpRequest) -> Mapping[str, Any] | None:
    from assistant.services.tenancy.mail import is_mail_configured

    return {} if is_mail_configured() else None
