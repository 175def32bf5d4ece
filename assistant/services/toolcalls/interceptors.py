"""The interceptors around tool calls, over MCP too, and around model calls: built in or named by settings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from assistant.core.extensions.interceptors import InterceptedModel, ModelInterceptor, ToolInterceptor
from assistant.core.llm.protocol import Model
from assistant.services.toolcalls.incidents import report_incidents
from assistant.services.toolcalls.tracing import is_observed, trace_call, traced
from assistant.toolkit.calls.handed_in import positional_mistake


@lru_cache
def load_interceptors(*names: str) -> tuple[Any, ...]:
    """Import interceptors by dotted name. A class is instantiated once for the process.

    Raises:
        ImportError: a name cannot be imported.
    """
    found = [import_string(name) for name in names]
    return tuple(one() if isinstance(one, type) else one for one in found)


def problem_of_interceptor(name: str) -> str:
    """Return why an interceptor cannot be used, as the end of a sentence; empty if it can."""
    try:
        (found,) = load_interceptors(name)
    except ImportError as exc:
        return f"cannot be imported: {exc}"
    except Exception as exc:  # its class can raise anything
        return f"cannot be made: {name} raised {type(exc).__name__}"
    mistake = positional_mistake(found, 2)
    return f"cannot be called: {name} {mistake}" if mistake else ""


def tool_interceptors() -> tuple[ToolInterceptor, ...]:
    """Return the interceptors of tool calls, outermost first: built-in ones, then `ASSISTANT_TOOL_INTERCEPTORS`."""
    built_in: tuple[ToolInterceptor, ...] = (trace_call, report_incidents) if is_observed() else (report_incidents,)
    return (*built_in, *load_interceptors(*settings.ASSISTANT_TOOL_INTERCEPTORS))


def with_interceptors(model: Model, *, tenant: str) -> Model:
    """Wrap a model in tracing and in `ASSISTANT_MODEL_INTERCEPTORS`."""
    traced_model = traced(model, tenant=tenant)
    own: tuple[ModelInterceptor, ...] = load_interceptors(*settings.ASSISTANT_MODEL_INTERCEPTORS)
    return InterceptedModel(traced_model, own) if own else traced_model
