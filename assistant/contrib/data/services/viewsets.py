"""Viewsets of Django REST framework as operations, called in the process as the signed-in member."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from django.db.models.query import ModelIterable
from django.utils.text import slugify
from django.utils.translation import override
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import JSONRenderer
from rest_framework.routers import SimpleRouter

from assistant.contrib.data.exposing_views import ExposedViewSet, declared_viewsets
from assistant.contrib.data.services.columns import looks_secret_name
from assistant.contrib.data.services.operations import Operation, operations_of
from assistant.contrib.data.services.own_relations import OwnRelations
from assistant.contrib.data.services.read_rows import only_own_rows, watch
from assistant.contrib.data.services.tenant_conditions import of_tenant, problem_of_path, shown_path
from assistant.contrib.data.services.view_calls import (
    FAILED,
    bounded,
    guarded,
    request_of,
    told,
    without_secret_parameters,
    without_secrets,
)
from assistant.contrib.data.services.view_tools import tool_of
from assistant.toolkit import InvalidTool, Tool, ToolContext, ToolError
from assistant.toolkit.lazy_module import is_there

_DEFAULT_ACTIONS = ("list", "retrieve")


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
    def path(self) -> str:
        """The way from its rows to their tenants, for people."""
        return "" if self.problem else shown_path(self.model, tenantless=self.exposed.tenantless)

    @property
    def rules(self) -> list[str]:
        own = f"The tenant's own, by {self.path}" if self.path else "The same rows for all tenants"
        return [own, "Active members, not end users", "The view's own permissions and filters"]

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
    try:
        found = {operation.name: operation for operation in _operations(exposed.viewset)}
    except Exception as exc:
        return ViewPlan(exposed, model, problem=f"its parameters cannot be read ({type(exc).__name__}: {exc})")
    wanted = exposed.actions or tuple(name for name in _DEFAULT_ACTIONS if name in found)
    if unknown := [name for name in wanted if name not in found]:
        raise InvalidTool(f"expose_viewset({exposed.viewset.__name__}): there is no action {unknown[0]!r}.")
    extra = {action.__name__: action for action in exposed.viewset.get_extra_actions()}
    offers: list[Offer] = []
    left_out: list[str] = []
    for name in wanted:
        operation = without_secret_parameters(found[name])
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


def _with_optional_body(operation: Operation) -> Operation:
    """Return an operation whose body may be empty: that of an action of one's own is a guess of the schema's."""
    required = [name for name in operation.parameters.get("required", ()) if operation.places[name] != "body"]
    return replace(operation, parameters={**operation.parameters, "required": required})


def narrowed_view(view: Any, context: ToolContext, arguments: Mapping[str, Any], *, is_read: bool) -> Any:
    """Return a view of an address with the tenant's rows alone, if it is one whose rows can be kept to a tenant."""
    if not can_be_narrowed(view):
        return view
    check_order(view.cls, arguments)
    base = scoped(view.cls, context, is_read=is_read)
    actions = getattr(view, "actions", None)
    return base.as_view(actions, **view.initkwargs) if actions else base.as_view(**view.initkwargs)


def can_be_narrowed(view: Any) -> bool:
    """Whether the rows of an address's view are of a model with a path to the tenant."""
    base = getattr(view, "cls", None)
    if not (isinstance(base, type) and issubclass(base, GenericAPIView)):
        return False
    model = _model_of(base)
    return model is not None and not problem_of_path(model)


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

    class OfActions(SchemaGenerator):
        def create_view(self, callback: Any, method: Any, request: Any = None) -> Any:
            view = super().create_view(callback, method, request)  # type: ignore[no-untyped-call]
            # What `extend_schema` has decorated has a schema of its own.
            if not isinstance(view.schema, NamedByAction):
                view.schema.get_operation_id = lambda: str(view.action)
            return view

    described = type(viewset.__name__, (viewset,), {"schema": NamedByAction(), "__module__": viewset.__module__})
    router = SimpleRouter()
    router.register("rows", described, basename="rows")
    with GENERATOR_STATS.silence():
        generator: Any = OfActions
        document = generator(patterns=router.urls).get_schema(request=None, public=True)
    return list(operations_of(document))


def tools_of_views() -> list[Tool]:
    """Return the tools of all exposed viewsets. Raises `InvalidTool` for an action that does not exist."""
    if not view_plans():
        return []
    watch()
    with override(None):
        return [
            tool_of(offer.tool, offer.operation, partial(call_view, offer), untrusted=offer.exposed.untrusted)
            for plan in view_plans()
            for offer in plan.offers
        ]


def call_view(offer: Offer, arguments: Mapping[str, Any], context: ToolContext) -> Any:
    """Call an action as the member, and return its data.

    Raises:
        ToolError: the view refuses it, with what it says.
        ForeignRow: it has read, saved or deleted another tenant's row; nothing of it is kept or returned.
    """
    exposed = offer.exposed
    check_order(exposed.viewset, arguments)
    request = request_of(offer.operation, arguments, context, request_for=exposed.request_for)
    view = scoped(exposed.viewset, context, is_read=offer.operation.is_read, tenantless=exposed.tenantless).as_view(
        {offer.operation.method: offer.operation.name}, **offer.options
    )
    with guarded(offer.operation, context), only_own_rows(context):
        response = view(request, **_path_arguments(offer, arguments))
        data = json.loads(JSONRenderer().render(response.data)) if getattr(response, "data", None) is not None else None
        if response.status_code >= FAILED:
            raise ToolError(told(response.status_code, data))
    return bounded(without_secrets(data))


def check_order(viewset: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse an order by a column that looks secret, since it tells how values compare."""
    for backend in getattr(viewset, "filter_backends", None) or ():
        names = str(arguments.get(getattr(backend, "ordering_param", ""), "")).split(",")
        if secret := [name for name in names if looks_secret_name(name.strip().lstrip("-"))]:
            raise ToolError(f"Rows cannot be ordered by {secret[0]!r}.")


def _path_arguments(offer: Offer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name, place in offer.operation.places.items() if place == "path"]
    viewset = offer.exposed.viewset
    if len(names) == 1:
        return {viewset.lookup_url_kwarg or viewset.lookup_field: str(arguments[names[0]])}
    return {name: str(arguments[name]) for name in names}


def scoped(base: Any, context: ToolContext, *, is_read: bool, tenantless: bool = False) -> Any:
    """Return a viewset, or generic view, with rows, related rows and choices of them that are the tenant's."""
    related = OwnRelations(context)

    class OwnRows(ModelIterable):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            rows = list(super().__iter__())
            related.empty_foreign(self.queryset.model, rows)
            yield from rows

    class Scoped(base):  # type: ignore[misc]
        # What is not shown is not searched.
        search_fields = [name for name in getattr(base, "search_fields", None) or () if not looks_secret_name(name)]

        def get_queryset(self) -> Any:
            rows = super().get_queryset()
            rows = rows.filter(of_tenant(rows.model, context, tenantless=tenantless))
            # Rows that are going to be saved stay as they are, and are emptied when they are shown.
            if is_read and rows._iterable_class is ModelIterable:
                rows._iterable_class = OwnRows
            return rows

        def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
            serializer = super().get_serializer(*args, **kwargs)
            related.keep_related(serializer, is_read=is_read)
            return serializer

    Scoped.__name__ = base.__name__
    return Scoped
