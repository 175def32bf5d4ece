"""The Django app of sign-in by OpenID Connect and with a second factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from assistant.optional_apps import OptionalApp


class SignInConfig(OptionalApp):
    name = "assistant.contrib.sign_in"
    label = "assistant_sign_in"
    verbose_name = "Assistant: sign-in beyond passwords"
    packages = {"allauth": "sign-in"}

    def register(self) -> None:
        from assistant.contrib.sign_in import checks  # noqa: F401 - registers the checks
        from assistant.contrib.sign_in.services import policy
        from assistant.pages import added_parts, member_links
        from assistant.services.tenancy import sign_in_steps

        sign_in_steps.ask_for(
            sign_in_steps.SignInStep(
                is_on=policy.is_on,
                lack_of=policy.sentence_of_lack,
                answer="assistant.contrib.sign_in.middleware.answer_to_lack",
                page="account_login",
            )
        )
        member_links.add_account_link(
            member_links.AccountLink(
                "mfa_index",
                label=_("Second factors"),
                hint=_("Your second factors"),
                icon="assistant/chat/icons/key.html",
                is_on=policy.is_on,
            )
        )
        added_parts.add_part("sign-in", "assistant/accounts/oidc_button.html", context=_button)
        added_parts.add_part("account", "assistant/accounts/oidc_account.html", context=_account)
        if apps.is_installed("allauth.mfa"):
            from assistant.contrib.sign_in.pages import records

            records.connect()


def _button(request: HttpRequest) -> Mapping[str, Any] | None:
    from assistant.contrib.sign_in.services import joining

    return {"oidc_name": joining.oidc_name()} if joining.is_oidc_on() else None


def _account(request: HttpRequest) -> Mapping[str, Any] | None:
    from assistant.contrib.sign_in.services import joining

    if not joining.is_oidc_on():
        return None
    return {"oidc_name": joining.oidc_name(), "is_connected": joining.is_connected(request.user)}
