"""The Django app: adds missing settings, discovers tools and registers system checks."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.options import BaseModelAdmin
from django.core.paginator import Paginator
from django.db.models.signals import pre_migrate
from django.forms import BaseFormSet, BaseModelForm
from django.utils.translation import activate, get_language, gettext, ngettext

from assistant import defaults
from assistant.toolkit import fast_paths
from assistant.toolkit.carried_context import carry_language_with
from assistant.toolkit.translation import translate_with

# Classes that take type parameters, as in ModelAdmin[Tenant], in Django's stubs but not in Django.
_GENERIC: tuple[Any, ...] = (BaseModelAdmin, BaseModelForm, BaseFormSet, Paginator)
for _class in _GENERIC:
    if not hasattr(_class, "__class_getitem__"):
        _class.__class_getitem__ = classmethod(lambda cls, parameters: cls)


class AssistantConfig(AppConfig):
    name = "assistant"
    verbose_name = "Assistant"
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        super().__init__(app_name, app_module)
        for name, value in defaults.settled(settings):
            setattr(settings, name, value)

    def ready(self) -> None:
        fast_paths.configure(enabled=settings.ASSISTANT_FAST_PATHS)
        translate_with(gettext, ngettext)
        carry_language_with(get_language, activate)
        from assistant import checks  # noqa: F401 - registers the checks
        from assistant.services.db.old_database import refuse_old_database
        from assistant.services.files import attachments
        from assistant.services.signin import guard
        from assistant.services.tenancy import host
        from assistant.services.toolpolicy import catalogue

        host.configure_tenant_models()
        catalogue.discover_installed()
        pre_migrate.connect(refuse_old_database, sender=self)
        if host.get_host() is not None:
            from assistant import hosting

            hosting.connect_signals()
        guard.connect_signals()
        attachments.connect_signals()
