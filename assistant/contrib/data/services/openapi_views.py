"""Operations of the project's own OpenAPI document: which are offered, and calls of their views as the member."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpRequest
from django.urls import ResolverMatch, resolve
from django.urls.exceptions import Resolver404
from django.utils.module_loading import import_string
from django.utils.translation import override

from assistant.contrib.data.exposing_openapi import ExposedDocument, declared_documents
from assistant.contrib.data.services.columns import looks_secret_name
from assistant.contrib.data.services.operations import Operation, operations_of
from assistant.contrib.data.services.read_rows import only_own_rows, watch
from assistant.contrib.data.services.view_calls import (
    FAILED,
    NOT_FOUND,
    bounded,
    environment_of,
    guarded,
    request_of,
    tenant_names,
    tenant_row,
    told,
    without_secret_parameters,
    without_secrets,
)
from assistant.contrib.data.services.view_tools import tool_of
from assistant.toolkit import Tool, ToolContext, ToolError

MAX_OPERATIONS = 200
_REDIRECTS = 300
_FORBIDDEN = 403
# What a name of the tenant in an address or a query may end with.
_KEYS = ("", "_id", "_pk", "_uuid", "_slug", "_key")
_NAME = re.compile(r"[^a-z0-9]+")
# Values that the project's converters of addresses may take.
_SAMPLES = ("1", "00000000-0000-4000-8000-000000000000", "a", "2031-01-01", "a/b")


@dataclass(frozen=True, slots=True)
class OperationOffer:
    """One operation that is offered.

    Attributes:
        tool: the tool's name.
        route: of the project's address, which a call has to lead to.
        of_tenant: the parameters that name the tenant, which calls fill in themselves.
    """

    exposed: ExposedDocument
    operation: Operation
    tool: str
    route: str
    of_tenant: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """What is offered of a document; `problem` is why nothing is."""

    exposed: ExposedDocument
    offers: tuple[OperationOffer, ...] = ()
    left_out: tuple[str, ...] = ()
    problem: str = ""

    @property
    def label(self) -> str:
        return self.exposed.label

    @property
    def path(self) -> str:
        """The way to the tenant, for people."""
        return "the request"

    @property
    def rules(self) -> list[str]:
        return [
            "The tenant on the request or in the address; rows of others are an incident",
            "Active members, not end users",
            "The view's own authentication, permissions and filters",
        ]


@cache
def document_plans() -> tuple[DocumentPlan, ...]:
    """Return what is offered of all exposed documents. The project's addresses can be read."""
    return tuple(plan_of_document(exposed) for exposed in declared_documents())


def plan_of_document(exposed: ExposedDocument) -> DocumentPlan:
    """Return what is offered of one document, and of what is not the reason."""
    try:
        document = _read(exposed.document)
    except Exception as exc:
        return DocumentPlan(exposed, problem=f"its document cannot be read ({type(exc).__name__}: {exc})")
    by_id = {operation.name: operation for operation in operations_of(document)}
    named = dict(exposed.operations or ())
    wanted = list(named) if exposed.operations is not None else [name for name, one in by_id.items() if one.is_read]
    offers: list[OperationOffer] = []
    left_out = [f"{name}: there is no such operation" for name in wanted if name not in by_id]
    for name in [name for name in wanted if name in by_id][:MAX_OPERATIONS]:
        offer = _offer(exposed, by_id[name], named.get(name, ""))
        if isinstance(offer, str):
            left_out.append(f"{name}: {offer}")
        elif any(one.tool == offer.tool for one in offers):
            left_out.append(f"{name}: there is another tool {offer.tool}")
        else:
            offers.append(offer)
    return DocumentPlan(exposed, tuple(offers), tuple(left_out), "" if offers or left_out else "it has no operation")


def _read(document: Any) -> Mapping[str, Any]:
    if isinstance(document, str):
        request = WSGIRequest(environment_of("GET", path=document))
        match = resolve(document)
        response = _respond(match, request)
        if response.status_code >= FAILED:
            raise ValueError(f"{document} answers with {response.status_code}")
        document = json.loads(_content(response))
    elif callable(document):
        document = document()
    if not isinstance(document, Mapping) or not isinstance(document.get("paths"), Mapping):
        raise ValueError("it is no OpenAPI document")
    # Schemas of libraries are dictionaries of their own kinds.
    plain: Mapping[str, Any] = json.loads(json.dumps(document, default=str))
    return plain


def _offer(exposed: ExposedDocument, operation: Operation, tool: str) -> OperationOffer | str:
    """Return an offer, or why the operation is not offered."""
    operation = without_secret_parameters(operation)
    if not operation.takes_json:
        return "its body is no JSON object"
    required = operation.parameters.get("required", ())
    if secret := next((name for name in required if looks_secret_name(name)), ""):
        return f"it needs {secret}, which looks secret"
    match = _match_of_template(operation.path)
    if match is None:
        return f"{operation.path} is no address of this project"
    of_tenant = {name: suffix for name in operation.places if (suffix := _suffix_of_tenant(name)) is not None}
    is_known = bool(of_tenant) or exposed.request_for is not None or _is_narrowed(match.func) or _sets_tenant(match)
    if not is_known:
        return "where its view has the tenant from is not known: set it with request_for"
    return OperationOffer(
        exposed, _without(operation, of_tenant), tool or _tool_name(operation), match.route, of_tenant
    )


def _match_of_template(path: str) -> ResolverMatch | None:
    """Return where an address with parameters leads, tried with values of several kinds."""
    for sample in _SAMPLES:
        try:
            return resolve(re.sub(r"\{[^}]*\}", sample, path))
        except Resolver404:
            continue
    return None


def _suffix_of_tenant(name: str) -> str | None:
    """Return what follows the tenant's name in a parameter, such as "_id"; None if it does not name the tenant."""
    for tenant in tenant_names():
        suffix = name.lower().removeprefix(tenant)
        if name.lower().startswith(tenant) and suffix in _KEYS:
            return suffix
    return None


def _is_narrowed(view: Any) -> bool:
    """Whether it is a view of Django REST framework whose rows are kept to the tenant, whatever its queryset is."""
    if not hasattr(view, "cls"):
        return False
    from assistant.contrib.data.services.viewsets import can_be_narrowed

    return can_be_narrowed(view)


def _narrowed(view: Any, context: ToolContext, arguments: Mapping[str, Any], *, is_read: bool) -> Any:
    if not _is_narrowed(view):
        return view
    from assistant.contrib.data.services.viewsets import narrowed_view

    return narrowed_view(view, context, arguments, is_read=is_read)


def _sets_tenant(match: ResolverMatch) -> bool:
    """Whether the project's middleware or the view's module has the tenant on the request, where calls put it."""
    pattern = re.compile(rf"request\.({'|'.join(map(re.escape, tenant_names()))})\b")
    own = [name for name in settings.MIDDLEWARE if not name.startswith(("django.", "assistant."))]
    view = inspect.unwrap(getattr(match.func, "cls", None) or getattr(match.func, "view_class", None) or match.func)
    sources = [*map(import_string, own), inspect.getmodule(view), *_handlers(match.func)]
    return any(pattern.search(_source(one)) for one in sources if one is not None)


def _handlers(view: Any) -> Iterator[Any]:
    """Yield the modules of the functions behind a view of django-ninja, whose view is the library's own."""
    for cell in getattr(inspect.unwrap(view), "__closure__", None) or ():
        for operation in getattr(cell.cell_contents, "operations", ()):
            yield inspect.getmodule(getattr(operation, "view_func", None))
    for operation in getattr(getattr(view, "__self__", None), "operations", ()):
        yield inspect.getmodule(getattr(operation, "view_func", None))


def _source(code: Any) -> str:
    try:
        return inspect.getsource(code)
    except (OSError, TypeError):
        return ""


def _without(operation: Operation, names: Mapping[str, str]) -> Operation:
    """Return an operation without parameters that are not the model's to choose."""
    parameters = dict(operation.parameters)
    parameters["properties"] = {name: one for name, one in parameters["properties"].items() if name not in names}
    if "required" in parameters:
        parameters["required"] = [name for name in parameters["required"] if name not in names]
    return replace(operation, parameters=parameters)


def _tool_name(operation: Operation) -> str:
    words = operation.name or f"{operation.method}_{operation.path}"
    return _NAME.sub("_", words.lower()).strip("_")[:60]


def tools_of_documents() -> list[Tool]:
    """Return the tools of all exposed documents."""
    watch()
    with override(None):
        return [
            tool_of(offer.tool, offer.operation, partial(call_operation, offer), untrusted=offer.exposed.untrusted)
            for plan in document_plans()
            for offer in plan.offers
        ]


def call_operation(offer: OperationOffer, arguments: Mapping[str, Any], context: ToolContext) -> Any:
    """Call an operation's view as the member, and return its data.

    Raises:
        ToolError: the view refuses it, with what it says.
        ForeignRow: it has read, saved or deleted another tenant's row; nothing of it is kept or returned.
    """
    values = {**arguments, **_tenant_values(offer, context)}
    operation = offer.operation
    path = re.sub(r"\{([^}]*)\}", lambda found: _segment(values[found[1]]), operation.path)
    try:
        match = resolve(path)
    except Resolver404:
        raise ToolError(told(NOT_FOUND, None)) from None
    if match.route != offer.route:
        raise ToolError(told(NOT_FOUND, None))
    request = request_of(operation, values, context, request_for=offer.exposed.request_for, path=path)
    with guarded(operation, context), only_own_rows(context):
        match.func = _narrowed(match.func, context, arguments, is_read=operation.is_read)
        status, data = _answer(match, request)
        if status >= FAILED:
            raise ToolError(told(status, data))
    return bounded(without_secrets(data))


def _tenant_values(offer: OperationOffer, context: ToolContext) -> Mapping[str, Any]:
    if not offer.of_tenant:
        return {}
    row = tenant_row(context)
    key = context.tenant.external_id or context.tenant.id
    slug = getattr(row, "slug", context.tenant.slug)
    return {name: slug if suffix == "_slug" else str(key) for name, suffix in offer.of_tenant.items()}


def _segment(value: Any) -> str:
    text = str(value)
    if not text or "/" in text or text in (".", ".."):
        raise ToolError(told(NOT_FOUND, None))
    return text


def _answer(match: ResolverMatch, request: HttpRequest) -> tuple[int, Any]:
    try:
        response = _respond(match, request)
    except Http404:
        return NOT_FOUND, None
    except PermissionDenied:
        return _FORBIDDEN, None
    if FAILED > response.status_code >= _REDIRECTS:
        return _FORBIDDEN, None
    content = _content(response)
    try:
        return response.status_code, json.loads(content) if content else None
    except ValueError:
        raise ToolError("The view answers with no JSON.") from None


def _respond(match: ResolverMatch, request: HttpRequest) -> Any:
    request.resolver_match = match
    view: Callable[..., Any] = match.func
    response = (async_to_sync(view) if iscoroutinefunction(view) else view)(request, *match.args, **match.kwargs)
    if hasattr(response, "render") and not getattr(response, "is_rendered", True):
        response = response.render()
    return response


def _content(response: Any) -> bytes:
    if response.streaming:
        raise ToolError("The view answers with a stream.")
    content: bytes = response.content
    return content
