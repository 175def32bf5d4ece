"""The language that a person has set, on every page of theirs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin

from assistant import optional_apps
from assistant.services.tenancy.person_settings import settings_for

# The views whose texts are for people; others answer programs.
_APPS = frozenset({"assistant", "admin"})
_PROGRAMS = ("/api/", "/healthz", "/readyz")


class PersonLanguage(MiddlewareMixin):
    """Middleware. Must come after `LocaleMiddleware`, whose choice it replaces, and `AuthenticationMiddleware`."""

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Use the language that the signed-in person has set, if the project still has it."""
        match = request.resolver_match
        if match is None or not _is_page(match.route, match.app_name, match.url_name or ""):
            return
        language = settings_for(request).language
        if language and language in dict(settings.LANGUAGES):
            translation.activate(language)
            request.LANGUAGE_CODE = translation.get_language()


def _is_page(route: str, app_name: str, url_name: str) -> bool:
    if app_name not in _APPS:
        return url_name.startswith(("account_", "mfa_", "socialaccount_", "openid_"))
    # The route begins with what the project has mounted it below.
    return not any(f"{beginning}" in f"/{route}" for beginning in (*_PROGRAMS, *optional_apps.paths_for_programs()))
