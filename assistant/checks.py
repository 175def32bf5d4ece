"""System checks: a wrong environment value, or a tool that a model could steer across tenants, is said at the start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from assistant.services import catalogue
from assistant.services.intercepting import load_interceptors
from tools.schema import suspicious_parameters


@register()
def environment(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A wrong value stops the start, and its variable is named."""
    return [
        Error(f"The environment variable {name} {problem}.", id="assistant.E001")
        for name, problem in settings.ENVIRONMENT_PROBLEMS
    ]


@register()
def interceptors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Interceptors that are not there stop the start."""
    found: list[CheckMessage] = []
    for variable in ("TOOL_INTERCEPTORS", "MODEL_INTERCEPTORS"):
        try:
            load_interceptors(*getattr(settings, variable))
        except ImportError as exc:
            found.append(
                Error(f"The environment variable {variable} names what is not there: {exc}", id="assistant.E002")
            )
    return found


@register(Tags.security, deploy=True)
def deployment_secrets(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Several processes or hosts must share their secrets, so a deployment gives them."""
    missing = []
    if settings.SECRET_KEY_IS_LOCAL:
        missing.append("SECRET_KEY")
    if settings.FIELD_ENCRYPTION_KEYS_ARE_DERIVED:
        missing.append("FIELD_ENCRYPTION_KEYS")
    return [checks.Warning(f"The environment variable {name} is not set.", id="assistant.W001") for name in missing]


@register()
def tool_parameters(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A tenant or user belongs to the tool context; as a parameter the model would choose it."""
    return [
        checks.Warning(
            f"Tool {tool.name!r} lets the model choose {name!r}.",
            hint="Take it from the ToolContext instead.",
            id="assistant.W002",
        )
        for tool in catalogue.registry()
        for name in suspicious_parameters(tool)
    ]
