"""The interceptors around every tool call and model call for tenants, over MCP too: the deployment's own, and ours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from assistant.core.llm.protocol import Model
from assistant.core.toolcalls.interceptors import InterceptedModel, ModelInterceptor, ToolInterceptor
from assistant.services.toolcalls.incidents import watch_for_incidents
from assistant.services.toolcalls.tracing import is_observed, observe_call, observed


@lru_cache
def load_interceptors(*names: str) -> tuple[Any, ...]:
    """What dotted names stand for, a class as one instance for the whole process.

    Raises:
        ImportError: there is no such thing.
    """
    found = [import_string(name) for name in names]
    return tuple(one() if isinstance(one, type) else one for one in found)


def tool_interceptors() -> tuple[ToolInterceptor, ...]:
    """What stands around every tool call, the outermost first; `TOOL_INTERCEPTORS` names the deployment's."""
    ours: tuple[ToolInterceptor, ...] = (observe_call, watch_for_incidents) if is_observed() else (watch_for_incidents,)
    return (*ours, *load_interceptors(*settings.TOOL_INTERCEPTORS))


def intercepted(model: Model, *, tenant: str) -> Model:
    """The model with spans around every question, and with the deployment's `MODEL_INTERCEPTORS`."""
    watched = observed(model, tenant=tenant)
    own: tuple[ModelInterceptor, ...] = load_interceptors(*settings.MODEL_INTERCEPTORS)
    return InterceptedModel(watched, own) if own else watched
