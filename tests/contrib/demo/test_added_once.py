"""What apps add is added once, although Django calls `ready` again when INSTALLED_APPS is overridden."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.test import override_settings

from assistant.contrib.bundles.services.part_modules import part_modules
from assistant.contrib.demo.seeds.added import added_seeds
from assistant.contrib.panel.admin.tenants.added_inlines import added_inlines
from assistant.pages import added_settings, member_links
from assistant.services.privacy import retention_rules
from assistant.services.tenancy import scopes, sign_in_steps


def registries() -> dict[str, Any]:
    return {
        "parts of bundles": part_modules(),
        "seeds": [module.__name__ for module in added_seeds()],  # type: ignore[attr-defined]
        "inlines": added_inlines(),
        "settings": [*added_settings._makers],
        "links": [*member_links._links],
        "retention": [*retention_rules._rules],
        "scopes": [*scopes._texts],
        "steps of sign-in": [*sign_in_steps._steps],
    }


def test_apps_register_once_however_often_django_populates_its_apps() -> None:
    before = registries()
    assert all(before.values()), before
    with override_settings(INSTALLED_APPS=[*settings.INSTALLED_APPS]):
        assert registries() == before
