"""The settings of people: name, language and appearance, for all pages of all their tenants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.utils.translation import get_language, get_language_info

from assistant.models import PersonSettings
from assistant.services.languages import own_language


@dataclass(frozen=True, slots=True)
class PersonValues:
    """A person's settings; empty where they have set nothing and the browser decides. `theme` may be "system"."""

    name: str = ""
    language: str = ""
    theme: str = ""


NOTHING_SET = PersonValues()


def person_settings(user: Any) -> PersonValues:
    """Return the settings of a user, or `NOTHING_SET`."""
    row = PersonSettings.objects.filter(user_id=user.pk).first()
    return NOTHING_SET if row is None else PersonValues(row.name, row.language, row.theme)


def settings_for(request: Any) -> PersonValues:
    """Return the settings of the signed-in user, read once a request; `NOTHING_SET` for others."""
    if (found := getattr(request, "_assistant_person", None)) is None:
        found = request._assistant_person = _read(request)
    return found


def _read(request: Any) -> PersonValues:
    try:
        user = getattr(request, "user", None)
        return person_settings(user) if user is not None and user.is_authenticated else NOTHING_SET
    except DatabaseError:
        # An error page has to be shown while the database is away, too.
        return NOTHING_SET


def set_theme(*, user: Any, theme: str) -> None:
    """Store the appearance that a user has chosen. Raises `ValueError` if there is none of this name."""
    if theme not in PersonSettings.Theme.values:
        raise ValueError(theme)
    PersonSettings.objects.update_or_create(user_id=user.pk, defaults={"theme": theme})


def languages() -> list[tuple[str, str]]:
    """Return the codes of the project's languages that we have texts in, each with its name in that language."""
    return [(code, _own_name(code, str(name))) for code, name in settings.LANGUAGES if own_language(code)]


def language_of(user: Any) -> str:
    """Return the language that a user has set, if the project still has it; else the active one."""
    wanted = person_settings(user).language
    return wanted if wanted in dict(settings.LANGUAGES) else get_language() or settings.LANGUAGE_CODE


def language_of_address(address: str) -> str:
    """Return the language of the account with this e-mail address; the active one if there is none."""
    field = get_user_model().get_email_field_name()
    user = get_user_model()._default_manager.filter(**{f"{field}__iexact": address}, is_active=True).first()
    return get_language() or settings.LANGUAGE_CODE if user is None else language_of(user)


def _own_name(code: str, name: str) -> str:
    try:
        return str(get_language_info(code)["name_local"])
    except KeyError:
        # A language of the project's own.
        return name
