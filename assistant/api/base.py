"""What every view of the REST API stands on: who calls, one format, one shape of error, idempotency keys."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ClassVar

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.openapi import AutoSchema
from rest_framework.exceptions import MethodNotAllowed, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from assistant.api.authentication import SAFE_METHODS, HttpRefusal, acaller_of, caller_of
from assistant.api.errors import answer_error
from assistant.api.parsers import OneFormat, StrictJSONParser
from assistant.services.db.threads import in_database
from assistant.services.runs.idempotency import Claim, claim, fingerprint, keep, release
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member

REPLAYED = "Idempotent-Replayed"


class TenantView(APIView):
    """A view below a tenant's address. `member` is who calls; `scope_*` is what an API key needs for it.

    A synchronous view runs in a thread of its request, and none of these waits for anything but the database.
    """

    authentication_classes = ()
    permission_classes = ()
    parser_classes = (StrictJSONParser,)
    content_negotiation_class = OneFormat
    # All that a project's own settings for Django REST framework could change.
    renderer_classes = (JSONRenderer,)
    throttle_classes = ()
    versioning_class = None
    schema = AutoSchema()
    metadata_class = None
    scope_to_read: ClassVar[str] = "read"
    scope_to_write: ClassVar[str] = "chat"
    caller: Caller

    @property
    def member(self) -> Member:
        return self.caller.member

    def dispatch(self, request: HttpRequest, *args: Any, tenant: str, **kwargs: Any) -> HttpResponseBase:
        self.tenant_slug = tenant
        return super().dispatch(request, *args, **kwargs)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        if "Transfer-Encoding" in request.headers:
            # A body that comes in chunks does not say its length, and without one it would be taken for none.
            request.META["CONTENT_LENGTH"] = "-1"
        made: Request = super().initialize_request(request, *args, **kwargs)
        return made

    def perform_authentication(self, request: Request) -> None:
        """Nothing: `caller_of` does it, and must find the session's user untouched."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        scope = self.scope_of(request.method or "")
        self.caller = caller_of(request._request, scope, tenant_slug=self.tenant_slug)

    def scope_of(self, method: str) -> str:
        return self.scope_to_read if method in SAFE_METHODS else self.scope_to_write

    def run_of(self, request: Request) -> str:
        """The id of the run that a request with an `Idempotency-Key` starts; empty if it starts none."""
        return ""

    def to_keep(self, body: Any) -> Any:
        """What is kept of an answer for whoever repeats the request; secrets are to be left out."""
        return body

    def from_kept(self, kept: Any) -> Any:
        """The answer again, from what `to_keep` made of it."""
        return kept

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return answer_error


class AsyncTenantView(TenantView):
    """A view whose handlers are coroutines, for those that wait for more than the database."""

    view_is_async = True

    async def dispatch(  # type: ignore[override]  # as Django's View is, when its handlers are coroutines
        self, request: HttpRequest, *args: Any, tenant: str, **kwargs: Any
    ) -> HttpResponseBase:
        self.tenant_slug, self.args, self.kwargs = tenant, args, kwargs
        self.headers = self.default_response_headers
        self.request = self.initialize_request(request, *args, **kwargs)
        try:
            APIView.initial(self, self.request, *args, **kwargs)
            scope = self.scope_of(request.method or "")
            self.caller = await acaller_of(request, scope, tenant_slug=tenant)
            handler = getattr(self, (request.method or "").lower(), None)
            if handler is None:
                raise MethodNotAllowed(request.method or "")
            response = await handler(self.request, *args, **kwargs)
        except Exception as exc:
            response = self.handle_exception(exc)
        self.response = self.finalize_response(self.request, response, *args, **kwargs)
        return self.response


def validated(serializer: type[Serializer[Any]], data: Any) -> dict[str, Any]:
    """Input that the serializer finds valid. Raises `ValidationError`."""
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    values: dict[str, Any] = checked.validated_data
    return values


def validated_query(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """A query string that the serializer finds valid; of a name that is given twice, the last. Raises as above."""
    unknown = set(request.query_params) - set(serializer().fields)
    if unknown:
        raise ValidationError({name: ["There is no such parameter."] for name in sorted(unknown)})
    return validated(serializer, request.query_params.dict())


def claim_request(member: Member, request: HttpRequest, body: Any, run_id: str = "") -> Claim | None:
    """The claim that an `Idempotency-Key` makes; None without one. Raises `HttpRefusal` for one that is none.

    `run_id` is that of the run which the request starts, if it does.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    mark = fingerprint(method=request.method or "", path=request.path, body=body)
    try:
        return claim(member=member, key=key, fingerprint=mark, run_id=run_id)
    except ValueError as exc:
        raise HttpRefusal(400, "invalid_input", str(exc), {"Idempotency-Key": [str(exc)]}) from exc


def _claim(view: TenantView, request: Request) -> Claim | None:
    return claim_request(view.member, request._request, request.data, view.run_of(request))


def settle(view: TenantView, claimed: Claim, response: Response | None) -> None:
    """A success is kept; after an error nothing was done, and the key is free again."""
    if response is not None and response.status_code < 300:
        # As it goes out: with moments and ids as texts.
        body = None if response.data is None else json.loads(JSONRenderer().render(response.data))
        keep(member=view.member, claim=claimed, status=response.status_code, body=view.to_keep(body))
    else:
        release(member=view.member, claim=claimed)


Handler = Callable[..., Response]
AsyncHandler = Callable[..., Awaitable[Response]]


def idempotent(handler: Handler) -> Handler:
    """Answer a POST that is sent again with the same `Idempotency-Key` as the first time, and do nothing more.

    Claim, work and answer are one transaction, for a process may die at any point: all of it is there, or nothing.
    Whoever sends the same meanwhile waits for the end of it.
    """

    @wraps(handler)
    def kept(self: TenantView, request: Request, **kwargs: Any) -> Response:
        with transaction.atomic():
            claimed = _claim(self, request)
            if claimed is None:
                return handler(self, request, **kwargs)
            if claimed.status is not None:
                return replay(self, claimed)
            response = handler(self, request, **kwargs)
            settle(self, claimed, response)
            return response

    return kept


def idempotent_async(handler: AsyncHandler) -> AsyncHandler:
    """As `idempotent`, of a coroutine, whose claim stands by itself: who sends the same meanwhile gets 409."""

    @wraps(handler)
    async def kept(self: AsyncTenantView, request: Request, **kwargs: Any) -> Response:
        claimed = await in_database(_claim, self, request)
        if claimed is None:
            return await handler(self, request, **kwargs)
        if claimed.status is not None:
            return replay(self, claimed)
        response: Response | None = None
        try:
            response = await handler(self, request, **kwargs)
        finally:
            await in_database(settle, self, claimed, response)
        return response

    return kept


def replay(view: TenantView, claimed: Claim) -> Response:
    """The answer that the first request got."""
    headers = {REPLAYED: "true", "Cache-Control": "no-store"}
    return Response(view.from_kept(claimed.body), status=claimed.status, headers=headers)
