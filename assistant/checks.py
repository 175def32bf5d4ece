"""System checks of the environment, the tools, the user model and the database.

Each imports what it asks, because most processes only register them.
"""

from __future__ import annotations

import os
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from assistant.defaults import keys_from
from assistant.optional_apps import (
    absent_families,
    missing_packages,
    problems_of_settings,
    protecting_settings,
    setting_names,
    settings_of_absent_apps,
)
from assistant.services.eventlog.configured import is_shared
from assistant.services.roles import problem_of_role
from assistant.services.tenancy import host, schemas
from assistant.services.toolpolicy import catalogue
from assistant.setting_text import misspelt


@register()
def environment(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report wrong environment variables, and wrong Django settings of the same names."""
    from assistant.providers import FORMATS

    problems = problems_of_settings()
    wire = FORMATS.get(settings.OPENAI_WIRE_FORMAT)
    if wire is not None and not wire.is_installed:
        problems.append(
            f"The environment variable OPENAI_WIRE_FORMAT names {settings.OPENAI_WIRE_FORMAT}, which needs a package "
            f"that is not installed: pip install '{wire.extra}'"
        )
    return [Error(problem, id="assistant.E001") for problem in problems]


@register()
def misspelt_names(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about settings and variables whose names are almost the assistant's: nothing reads them."""
    return [
        checks.Warning(
            f"Nothing reads {name}; " + (f"{meant} is meant, probably." if meant else "it is no setting of this name."),
            id="assistant.W006",
        )
        for name, meant in misspelt(setting_names(), settings, os.environ)
    ]


@register()
def absent_apps(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report settings and variables of optional apps that are not installed: an error where they protect something."""
    guards = protecting_settings()
    return [
        (Error if name in guards else checks.Warning)(
            f"{name} is a setting of {app}, which is not in INSTALLED_APPS: nothing reads it.",
            hint=f"Add {app!r} to INSTALLED_APPS, or remove the setting.",
            id="assistant.E011" if name in guards else "assistant.W008",
        )
        for name, app in settings_of_absent_apps(settings, os.environ)
    ]


@register()
def packages(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report packages that installed apps and settings need."""
    return [Error(f"{problem}.", id="assistant.E012") for problem in missing_packages()]


@register()
def base_template(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report a base template in which the pages cannot be shown."""
    from assistant.pages.base_template import BLOCKS, problem_of_base_template

    if not (problem := problem_of_base_template()):
        return []
    return [
        Error(
            f"ASSISTANT_BASE_TEMPLATE is {settings.ASSISTANT_BASE_TEMPLATE!r}, but {problem}.",
            hint=f"It needs the blocks {', '.join(BLOCKS)}; docs/saas.md has an example.",
            id="assistant.E009",
        )
    ]


@register()
def interceptors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report interceptors that cannot be imported or called."""
    from assistant.services.toolcalls.interceptors import problem_of_interceptor

    found: list[CheckMessage] = []
    for variable in ("ASSISTANT_TOOL_INTERCEPTORS", "ASSISTANT_MODEL_INTERCEPTORS"):
        for name in getattr(settings, variable):
            if problem := problem_of_interceptor(name):
                text = f"The environment variable {variable} names an interceptor that {problem}"
                found.append(Error(text, id="assistant.E002"))
    return found


@register()
def library(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report names in ASSISTANT_LIBRARY that the library does not have."""
    absent = absent_families()
    neither = f"neither a tool of the library nor one of: {', '.join(catalogue.library_families())}, all"
    return [
        Error(
            f"ASSISTANT_LIBRARY names {name!r}, which is "
            f"{f'of {absent[name]}, an app that INSTALLED_APPS does not name' if name in absent else neither}.",
            id="assistant.E005",
        )
        for name in catalogue.unknown_library_names(settings.ASSISTANT_LIBRARY)
    ]


@register()
def role(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report what the process's role needs: several processes share PostgreSQL and Redis."""
    problem = problem_of_role(has_shared_log=is_shared())
    hint = "docs/production.md#workers"
    return [Error(f"{problem}.", hint=hint, id="assistant.E010")] if problem else []


@register(Tags.security, deploy=True)
def deployment_secrets(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about secrets that are generated on this host, because several processes or hosts have to share them."""
    missing = []
    if settings.ASSISTANT_SECRET_KEY_IS_LOCAL:
        missing.append("SECRET_KEY")
    if keys_from(settings.SECRET_KEY) == settings.ASSISTANT_FIELD_ENCRYPTION_KEYS:
        missing.append("ASSISTANT_FIELD_ENCRYPTION_KEYS")
    return [checks.Warning(f"The environment variable {name} is not set.", id="assistant.W001") for name in missing]


@register()
def tool_parameters(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about tools with a tenant or user as a parameter, which the model would then choose."""
    from assistant.toolkit.schema.parameters import suspicious_parameters

    return [
        checks.Warning(
            f"Tool {tool.name!r} lets the model choose {name!r}.",
            hint="Take it from the ToolContext instead.",
            id="assistant.W002",
        )
        for tool in catalogue.registry()
        for name in suspicious_parameters(tool.parameters)
    ]


@register()
def tools_of_providers(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Say what the wire formats of providers lose or change of a tool."""
    from assistant.providers.tool_adaptation.adapted_tool import notes_of

    return [
        checks.Info(
            f"Tool {tool.name!r} is adapted. {note}",
            hint="docs/provider-quirks.md#tools-that-providers-refuse",
            id="assistant.I001",
        )
        for tool in catalogue.registry()
        for note in notes_of(tool)
    ]


@register(Tags.models)
def user_model(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report fields that a custom user model needs for Django's admin and permissions."""
    model = get_user_model()
    known = {field.name for field in model._meta.get_fields()}
    missing = [name for name in ("is_active", "is_staff", "is_superuser") if name not in known]
    return [
        Error(
            f"The user model {model._meta.label} has no field {name!r}.",
            hint="django.contrib.auth.models.AbstractUser has it; PermissionsMixin has is_superuser.",
            id="assistant.E003",
        )
        for name in missing
    ]


@register(Tags.models)
def models_without_tenant(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about a host project's models whose rows lead to none of its tenants, so that nothing can check them."""
    return [
        checks.Warning(
            f"The rows of {model._meta.label} lead to no tenant, so a tool could return those of another one.",
            hint="Name the lookup in HostTenants.tenant_paths, or the model in HostTenants.tenantless if it is meant.",
            id="assistant.W005",
        )
        for model in host.models_without_tenant()
        if schemas.tenant_model() is None or not schemas.has_schemas_of_its_own(model)
    ]


@register(Tags.models)
def schema_of_tools(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about a project with django-tenants whose tools would query the public schema."""
    if not apps.is_installed(schemas.PACKAGE) or schemas.tenant_model() is not None:
        return []
    return [
        checks.Warning(
            "Tools query the public schema, because the assistant's tenants have no schemas.",
            hint="ASSISTANT_TENANTS names a HostTenants whose tenant_model is the TENANT_MODEL of django-tenants.",
            id="assistant.W009",
        )
    ]


@register()
def sqlite_transactions(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about SQLite's default transactions: one that reads before it writes fails if another one is writing."""
    config = settings.DATABASES["default"]
    if not config["ENGINE"].endswith("sqlite3") or config.get("OPTIONS", {}).get("transaction_mode") == "IMMEDIATE":
        return []
    return [
        checks.Warning(
            "The database is SQLite, without transaction_mode IMMEDIATE: concurrent runs would find it locked.",
            hint='DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}',
            id="assistant.W003",
        )
    ]
