"""Calls of the project's own views in the process, as the member: the request, what is watched, and the answer."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIRequest
from django.db import transaction
from django.db.models.signals import post_save, pre_delete, pre_save

from assistant.contrib.data.services.columns import looks_secret_name
from assistant.contrib.data.services.operations import Operation
from assistant.contrib.data.services.reading import reading
from assistant.contrib.data.services.tenant_conditions import of_tenant, problem_of_path
from assistant.hosting import get_host
from assistant.models import Membership
from assistant.optional_apps import labels
from assistant.toolkit import ForeignRow, ToolContext, ToolError
from assistant.toolkit.guards.tenant_paths import tenant_models

# Rows of a list without pages of its own.
MAX_ROWS = 50
FAILED = 400
NOT_FOUND = 404
# Characters of what a view says of a refusal.
MAX_REFUSAL = 500
_REFUSED = 403
_FORBIDDEN = (401, _REFUSED)
_TOO_MANY = 429
_writes_for: ContextVar[ToolContext | None] = ContextVar("assistant_data_writes_for", default=None)


def guarded(operation: Operation, context: ToolContext) -> AbstractContextManager[None]:
    """Return the transaction of a call: of one that reads it is read-only, of others all writes are the tenant's."""
    return reading("Ask for less.") if operation.is_read else _watched(context)


@contextmanager
def _watched(context: ToolContext) -> Iterator[None]:
    token = _writes_for.set(context)
    try:
        with transaction.atomic():
            yield
    finally:
        _writes_for.reset(token)


def _check_written(sender: Any, instance: Any, **_: Any) -> None:
    """Refuse a row that is not the tenant's, before and after a view writes it."""
    context = _writes_for.get()
    if context is None or sender._meta.app_label in labels() or instance._state.adding:
        return
    if not tenant_models().ways(sender) or problem_of_path(sender):
        return
    if not sender._base_manager.filter(of_tenant(sender, context), pk=instance.pk).exists():
        raise ForeignRow(f"A view of tenant {context.tenant.id} wrote {sender._meta.label} {instance.pk}.")


for _signal in (pre_save, post_save, pre_delete):
    _signal.connect(_check_written, weak=False, dispatch_uid="assistant.contrib.data.viewsets")


def member_of(context: ToolContext) -> Any:
    """Return the user of a call's member. Raises `ToolError` if they are none, or an end user."""
    members = Membership.objects.filter(tenant_id=context.tenant.pk, user_id=context.user.pk)
    user = get_user_model()._base_manager.filter(pk=context.user.pk, is_active=True).first()
    if user is None or not members.exclude(role=Membership.Role.END_USER).exists():
        raise ToolError("Only active members may use this.")
    return user


def request_of(
    operation: Operation,
    arguments: Mapping[str, Any],
    context: ToolContext,
    *,
    request_for: Callable[[Any, Any], Any] | None,
    path: str = "/",
) -> Any:
    """Return the request of a call: of the member, with the tenant where the project's code looks for it.

    Raises:
        ToolError: the member is none any more, or an end user.
    """
    user = member_of(context)
    places = operation.places
    query = [
        (name, _as_text(each))
        for name, value in arguments.items()
        if places.get(name) == "query" and value is not None
        for each in (value if isinstance(value, list) else [value])
    ]
    body = json.dumps({name: value for name, value in arguments.items() if places.get(name) == "body"}).encode()
    request = WSGIRequest(environment_of(operation.method.upper(), path=path, query=urlencode(query), body=body))
    request.user = user
    # How Django REST framework is told that somebody is authenticated already.
    request._force_auth_user = user  # type: ignore[attr-defined]
    # There is no browser that another site could use.
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
    row = tenant_row(context)
    if row is not None:
        for name in tenant_names():
            setattr(request, name, row)
    if request_for is not None:
        request_for(request, context)
    return request


def environment_of(method: str, *, path: str, query: str = "", body: bytes = b"") -> dict[str, Any]:
    """Return the environment of a request that comes from this process."""
    hosts = [host for host in settings.ALLOWED_HOSTS if not host.startswith((".", "*"))]
    return {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_ACCEPT": "application/json",
        "HTTP_HOST": hosts[0] if hosts else "localhost",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "443",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": io.BytesIO(body),
        "wsgi.url_scheme": "https",
    }


def tenant_names() -> tuple[str, ...]:
    """Return the names under which a request has the project's tenant: `tenant`, and the name of its model."""
    host = get_host()
    return ("tenant",) if host is None else ("tenant", str(apps.get_model(host.tenant_model)._meta.model_name))


def tenant_row(context: ToolContext) -> Any | None:
    """Return the project's own row of a call's tenant; None if the project has none."""
    host = get_host()
    if host is None or not context.tenant.external_id:
        return None
    return apps.get_model(host.tenant_model)._base_manager.get(pk=context.tenant.external_id)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def told(status: int, data: Any) -> str:
    """Return what the model reads of a refusal: validation errors and reasons as the view gives them."""
    if status == NOT_FOUND:
        return "There is no such row among those that the user can see."
    detail = data.get("detail") if isinstance(data, dict) else None
    if status in _FORBIDDEN:
        # What is said to those who are not signed in would send the member to sign in again.
        is_told = status == _REFUSED and isinstance(detail, str)
        return f"The user may not do this. {detail if is_told else ''}".strip()[:MAX_REFUSAL]
    if status == _TOO_MANY:
        return str(detail or "Too many calls. Try again later.")
    return (
        detail
        if isinstance(detail, str) and detail
        else f"It was refused: {json.dumps(data, ensure_ascii=False)[:2000]}"
    )


def without_secret_parameters(operation: Operation) -> Operation:
    """Return an operation without optional parameters whose names look secret: a filter tells what it compares."""
    parameters = operation.parameters
    required = parameters.get("required", ())
    properties = {
        name: schema
        for name, schema in parameters["properties"].items()
        if name in required or not looks_secret_name(name)
    }
    return replace(operation, parameters={**parameters, "properties": properties})


def without_secrets(data: Any) -> Any:
    """Return data without values whose names look secret."""
    if isinstance(data, dict):
        return {name: without_secrets(value) for name, value in data.items() if not looks_secret_name(str(name))}
    return [without_secrets(one) for one in data] if isinstance(data, list) else data


def bounded(data: Any) -> Any:
    """Return data with the first rows of a list that has no pages."""
    if isinstance(data, list) and len(data) > MAX_ROWS:
        return {"rows": data[:MAX_ROWS], "more": f"Only the first {MAX_ROWS} of {len(data)} rows are shown. Narrow it."}
    return "Done" if data is None else data
