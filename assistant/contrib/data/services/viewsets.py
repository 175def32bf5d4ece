"""Viewsets of Django REST framework as operations, called in the process as the signed-in member."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIRequest
from django.db import transaction
from django.db.models import Model
from django.db.models.query import ModelIterable
from django.db.models.signals import post_save, pre_delete, pre_save
from django.utils.text import slugify
from rest_framework.relations import ManyRelatedField, RelatedField
from rest_framework.renderers import JSONRenderer
from rest_framework.routers import SimpleRouter

from assistant.contrib.data.exposing_views import ExposedViewSet, declared_viewsets
from assistant.contrib.data.services.columns import looks_secret_name
from assistant.contrib.data.services.operations import Operation, operations_of
from assistant.contrib.data.services.reading import reading
from assistant.contrib.data.services.tenant_conditions import is_tenantless, of_tenant, problem_of_path
from assistant.hosting import get_host
from assistant.models import Membership
from assistant.optional_apps import labels
from assistant.toolkit import ForeignRow, InvalidTool, ToolContext, ToolError
from assistant.toolkit.guards.tenant_paths import tenant_models
from assistant.toolkit.lazy_module import is_there

# Rows of a list without pages of its own.
MAX_ROWS = 50
_DEFAULT_ACTIONS = ("list", "retrieve")
_FORBIDDEN = (401, 403)
_NOT_FOUND = 404
_TOO_MANY = 429
_FAILED = 400
_writes_for: ContextVar[ToolContext | None] = ContextVar("assistant_data_writes_for", default=None)


@dataclass(frozen=True, slots=True)
class Offer:
    """One action of a viewset that is offered.

    Attributes:
        options: what the action's decorator says of the view, such as its permissions.
    """

    exposed: ExposedViewSet
    operation: Operation
    tool: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """What is offered of a viewset; `problem` is why nothing is."""

    exposed: ExposedViewSet
    model: Any
    offers: tuple[Offer, ...] = ()
    left_out: tuple[str, ...] = ()
    problem: str = ""

    @property
    def label(self) -> str:
        return f"{self.exposed.viewset.__module__}.{self.exposed.viewset.__name__}"


@cache
def view_plans() -> tuple[ViewPlan, ...]:
    """Return what is offered of all exposed viewsets.

    Raises:
        InvalidTool: an action does not exist.
    """
    return tuple(plan_of_viewset(exposed) for exposed in declared_viewsets())


def plan_of_viewset(exposed: ExposedViewSet) -> ViewPlan:
    """Return what is offered of one viewset. Raises as `view_plans` does."""
    model = _model_of(exposed.viewset)
    if model is None:
        return ViewPlan(exposed, None, problem="it has no queryset that says whose rows it is about")
    if problem := problem_of_path(model, tenantless=exposed.tenantless):
        return ViewPlan(exposed, model, problem=problem)
    if not is_there("drf_spectacular"):
        return ViewPlan(exposed, model, problem="its parameters are read with drf-spectacular, which is not installed")
    found = {operation.name: operation for operation in _operations(exposed.viewset)}
    wanted = exposed.actions or tuple(name for name in _DEFAULT_ACTIONS if name in found)
    if unknown := [name for name in wanted if name not in found]:
        raise InvalidTool(f"expose_viewset({exposed.viewset.__name__}): there is no action {unknown[0]!r}.")
    extra = {action.__name__: action for action in exposed.viewset.get_extra_actions()}
    offers: list[Offer] = []
    left_out: list[str] = []
    for name in wanted:
        operation = _without_secret_parameters(found[name])
        secret = [one for one in operation.parameters.get("required", ()) if looks_secret_name(one)]
        if secret:
            left_out.append(f"{name}: it needs {secret[0]}, which looks secret")
            continue
        action = extra.get(name)
        if action is not None:
            operation = _with_optional_body(operation)
        is_detail = action.detail if action is not None else name not in ("list", "create")
        options = {} if action is None else dict(action.kwargs)
        tool = _tool_name(exposed, model, name, is_one=is_detail or name == "create")
        offers.append(Offer(exposed, operation, tool, options))
    return ViewPlan(exposed, model, tuple(offers), tuple(left_out))


def _without_secret_parameters(operation: Operation) -> Operation:
    """Return an operation without optional parameters whose names look secret: a filter tells what it compares."""
    parameters = operation.parameters
    required = parameters.get("required", ())
    properties = {
        name: schema
        for name, schema in parameters["properties"].items()
        if name in required or not looks_secret_name(name)
    }
    return replace(operation, parameters={**parameters, "properties": properties})


def _with_optional_body(operation: Operation) -> Operation:
    """Return an operation whose body may be empty: that of an action of one's own is a guess of the schema's."""
    required = [name for name in operation.parameters.get("required", ()) if operation.places[name] != "body"]
    return replace(operation, parameters={**operation.parameters, "required": required})


def _model_of(viewset: Any) -> Any | None:
    queryset = getattr(viewset, "queryset", None)
    if queryset is not None:
        return queryset.model
    meta = getattr(getattr(viewset, "serializer_class", None), "Meta", None)
    return getattr(meta, "model", None)


def _tool_name(exposed: ExposedViewSet, model: Any, action: str, *, is_one: bool) -> str:
    meta = model._meta
    one = exposed.name or slugify(str(meta.verbose_name)).replace("-", "_") or str(meta.model_name)
    many = slugify(str(meta.verbose_name_plural)).replace("-", "_")
    if exposed.plural or exposed.name:
        many = exposed.plural or f"{exposed.name}s"
    return f"{action}_{one if is_one else many}"


def _operations(viewset: Any) -> list[Operation]:
    # Its import takes long, and only projects that expose a viewset need it.
    from drf_spectacular.drainage import GENERATOR_STATS
    from drf_spectacular.generators import SchemaGenerator
    from drf_spectacular.openapi import AutoSchema

    class NamedByAction(AutoSchema):
        def get_operation_id(self) -> str:
            return str(getattr(self.view, "action", ""))

    described = type(viewset.__name__, (viewset,), {"schema": NamedByAction(), "__module__": viewset.__module__})
    router = SimpleRouter()
    router.register("rows", described, basename="rows")
    with GENERATOR_STATS.silence():
        generator: Any = SchemaGenerator
        document = generator(patterns=router.urls).get_schema(request=None, public=True)
    return list(operations_of(document))


def call_view(offer: Offer, arguments: Mapping[str, Any], context: ToolContext) -> Any:
    """Call an action as the member, and return its data.

    Raises:
        ToolError: the view refuses it, with what it says.
        ForeignRow: it has saved or deleted another tenant's row; nothing of it is kept.
    """
    user = _member(context)
    _check_order(offer, arguments)
    request = _request(offer, arguments, context, user)
    view = _scoped(offer, context).as_view({offer.operation.method: offer.operation.name}, **offer.options)
    with _transaction(offer, context):
        response = view(request, **_path_arguments(offer, arguments))
        data = json.loads(JSONRenderer().render(response.data)) if getattr(response, "data", None) is not None else None
        if response.status_code >= _FAILED:
            raise ToolError(_told(response.status_code, data))
    return _bounded(_without_secrets(data))


def _check_order(offer: Offer, arguments: Mapping[str, Any]) -> None:
    """Refuse an order by a column that looks secret, since it tells how values compare."""
    for backend in getattr(offer.exposed.viewset, "filter_backends", None) or ():
        names = str(arguments.get(getattr(backend, "ordering_param", ""), "")).split(",")
        if secret := [name for name in names if looks_secret_name(name.strip().lstrip("-"))]:
            raise ToolError(f"Rows cannot be ordered by {secret[0]!r}.")


def _transaction(offer: Offer, context: ToolContext) -> AbstractContextManager[None]:
    return reading("Ask for less.") if offer.operation.is_read else _watched(context)


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


def _member(context: ToolContext) -> Any:
    members = Membership.objects.filter(tenant_id=context.tenant.pk, user_id=context.user.pk)
    user = get_user_model()._base_manager.filter(pk=context.user.pk, is_active=True).first()
    if user is None or not members.exclude(role=Membership.Role.END_USER).exists():
        raise ToolError("Only active members may use this.")
    return user


def _request(offer: Offer, arguments: Mapping[str, Any], context: ToolContext, user: Any) -> Any:
    places = offer.operation.places
    query = [
        (name, _as_text(each))
        for name, value in arguments.items()
        if places.get(name) == "query" and value is not None
        for each in (value if isinstance(value, list) else [value])
    ]
    body = json.dumps({name: value for name, value in arguments.items() if places.get(name) == "body"}).encode()
    hosts = [host for host in settings.ALLOWED_HOSTS if not host.startswith((".", "*"))]
    request = WSGIRequest(
        {
            "REQUEST_METHOD": offer.operation.method.upper(),
            "PATH_INFO": "/",
            "QUERY_STRING": urlencode(query),
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
    )
    request.user = user
    # How Django REST framework is told that somebody is authenticated already.
    request._force_auth_user = user  # type: ignore[attr-defined]
    host = get_host()
    if host is not None and context.tenant.external_id:
        model = apps.get_model(host.tenant_model)
        row = model._base_manager.get(pk=context.tenant.external_id)
        for name in ("tenant", str(model._meta.model_name)):
            setattr(request, name, row)
    if offer.exposed.request_for is not None:
        offer.exposed.request_for(request, context)
    return request


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path_arguments(offer: Offer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name, place in offer.operation.places.items() if place == "path"]
    viewset = offer.exposed.viewset
    if len(names) == 1:
        return {viewset.lookup_url_kwarg or viewset.lookup_field: str(arguments[names[0]])}
    return {name: str(arguments[name]) for name in names}


def _scoped(offer: Offer, context: ToolContext) -> Any:
    """Return the viewset with rows, related rows and choices of them that are the tenant's."""
    base = offer.exposed.viewset

    class OwnRelations(ModelIterable):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            rows = list(super().__iter__())
            _empty_foreign(self.queryset.model, rows, context)
            yield from rows

    class Scoped(base):  # type: ignore[misc, valid-type]
        # What is not shown is not searched.
        search_fields = [name for name in getattr(base, "search_fields", None) or () if not looks_secret_name(name)]

        def get_queryset(self) -> Any:
            rows = super().get_queryset()
            rows = rows.filter(of_tenant(rows.model, context, tenantless=offer.exposed.tenantless))
            # Rows that are going to be saved stay as they are, and are emptied when they are shown.
            if offer.operation.is_read and rows._iterable_class is ModelIterable:
                rows._iterable_class = OwnRelations
            return rows

        def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
            serializer = super().get_serializer(*args, **kwargs)
            _narrow(serializer, context)
            if not offer.operation.is_read:
                _show_own_relations(serializer, context)
            return serializer

    Scoped.__name__ = base.__name__
    return Scoped


def _show_own_relations(serializer: Any, context: ToolContext) -> None:
    """Let a serializer show a copy of each row, without references to another tenant's."""
    inner = getattr(serializer, "child", serializer)
    represent = inner.to_representation

    def shown(row: Any) -> Any:
        if isinstance(row, Model):
            row = copy.copy(row)
            _empty_foreign(type(row), [row], context)
        return represent(row)

    inner.to_representation = shown


def _empty_foreign(model: Any, rows: list[Any], context: ToolContext) -> None:
    """Empty the foreign keys of rows that lead to another tenant's. One query for each foreign key."""
    lookups = [way.lookup for way in tenant_models().ways(model)]
    for column in model._meta.concrete_fields:
        related = column.related_model
        is_way = any(lookup.startswith(f"{column.name}__") for lookup in lookups)
        if not column.is_relation or is_way or is_tenantless(related) or problem_of_path(related):
            continue
        keys = {key for row in rows if (key := row.__dict__.get(column.attname)) is not None}
        target = column.target_field.attname
        own = related._base_manager.filter(of_tenant(related, context), **{f"{target}__in": keys})
        foreign = keys - set(own.values_list(target, flat=True)) if keys else keys
        for row in rows if foreign else ():
            if row.__dict__.get(column.attname) in foreign:
                setattr(row, column.attname, None)
                row._state.fields_cache[column.name] = None


def _narrow(serializer: Any, context: ToolContext, depth: int = 5) -> None:
    """Let fields that name related rows accept those of the tenant alone."""
    inner = getattr(serializer, "child", serializer)
    for one in getattr(inner, "fields", {}).values():
        relation: Any = one.child_relation if isinstance(one, ManyRelatedField) else one
        is_related = isinstance(relation, RelatedField)
        if is_related and relation.queryset is not None:
            rows = relation.queryset.all()
            has_path = not problem_of_path(rows.model)
            relation.queryset = rows.filter(of_tenant(rows.model, context)) if has_path else rows.none()
        elif depth and hasattr(getattr(one, "child", one), "fields"):
            _narrow(one, context, depth - 1)


def _told(status: int, data: Any) -> str:
    if status == _NOT_FOUND:
        return "There is no such row among those that the user can see."
    if status in _FORBIDDEN:
        return "The user may not do this."
    detail = data.get("detail") if isinstance(data, dict) else None
    if status == _TOO_MANY:
        return str(detail or "Too many calls. Try again later.")
    return str(detail) if detail else f"It was refused: {json.dumps(data, ensure_ascii=False)[:2000]}"


def _without_secrets(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _without_secrets(value) for name, value in data.items() if not looks_secret_name(str(name))}
    return [_without_secrets(one) for one in data] if isinstance(data, list) else data


def _bounded(data: Any) -> Any:
    if isinstance(data, list) and len(data) > MAX_ROWS:
        return {"rows": data[:MAX_ROWS], "more": f"Only the first {MAX_ROWS} of {len(data)} rows are shown. Narrow it."}
    return "Done" if data is None else data
