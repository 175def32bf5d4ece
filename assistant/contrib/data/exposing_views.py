"""What projects say of their viewsets, in the module `assistant` of an app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.toolkit import InvalidTool
from assistant.toolkit.calls.gate import positional_mistake
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.unknown_options import lists_options

# A function of a request and the tool's context, which sets what the project's middleware would have set.
RequestFor = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedViewSet:
    """What `expose_viewset` was told; the attributes are its arguments."""

    viewset: Any
    actions: tuple[str, ...] | None = None
    name: str = ""
    plural: str = ""
    request_for: RequestFor | None = None
    tenantless: bool = False
    untrusted: bool = False


_declared: list[ExposedViewSet] = []


def declared_viewsets() -> list[ExposedViewSet]:
    """Return the viewsets that the project has exposed so far, in that order."""
    return list(_declared)


def check_request_for(caller: str, request_for: RequestFor | None) -> None:
    """Raise `InvalidTool` if a function cannot be called with a request and a context."""
    if request_for is None:
        return
    mistake = "is async" if is_async(request_for) else positional_mistake(request_for, 2)
    if mistake:
        raise InvalidTool(f"{caller}: request_for {mistake}.")


@lists_options
def expose_viewset(
    viewset: Any,
    *,
    actions: Sequence[str] | None = None,
    name: str = "",
    plural: str = "",
    request_for: RequestFor | None = None,
    tenantless: bool = False,
    untrusted: bool = False,
) -> None:
    """Make tools of the actions of a viewset of Django REST framework. They are off until switched on.

    They are called in the process as the member: its permissions, throttles, filters and serializers count as for a
    request. Rows are those of the chat's tenant, whatever the viewset's queryset is. Actions that change something ask
    a person first.

    Args:
        actions: the names of its actions. Default: `list` and `retrieve`, where it has them.
        name, plural: the names of one and of several rows in the tools' names. Default: the model's.
        request_for: a function of a request and the tool's context, which sets on the request what your middleware
            would have set. Default: `request.user`, and your tenant's row as `request.tenant` and under the name of its
            model.
        tenantless: whether all tenants read the same rows.
        untrusted: whether the rows have text that outsiders wrote.

    Raises:
        InvalidTool: a value is not of its type, or the viewset has been exposed already.
    """
    label = getattr(viewset, "__name__", repr(viewset))
    if not (isinstance(viewset, type) and hasattr(viewset, "get_extra_actions")):
        raise InvalidTool(f"expose_viewset() takes a viewset class, not {label}.")
    if isinstance(actions, str):
        raise InvalidTool(f"expose_viewset({label}): actions must be a list of names.")
    check_request_for(f"expose_viewset({label})", request_for)
    if any(one.viewset is viewset for one in _declared):
        raise InvalidTool(f"expose_viewset({label}) was called twice.")
    _declared.append(
        ExposedViewSet(
            viewset=viewset,
            actions=None if actions is None else tuple(actions),
            name=name,
            plural=plural,
            request_for=request_for,
            tenantless=tenantless,
            untrusted=untrusted,
        )
    )
