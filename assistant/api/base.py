"""Base classes of the REST API's views: authentication, JSON, error responses, idempotency keys."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import MethodNotAllowed, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from assistant.api.authentication import API, HttpRefusal, acaller_of, caller_of
from assistant.api.errors import answer_error
from assistant.api.parsers import OneFormat, StrictJSONParser
from assistant.services.conversations.thread_keys import own_row
from assistant.services.db.threads import in_database
from assistant.services.runs.idempotency import Claim, claim, fingerprint, release_claim, store_answer
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.scopes import ANY, Rule

REPLAYED = "Idempotent-Replayed"


class TenantView(APIView):
    """A view below a tenant's address, for one of its members.

    `rules` are the scopes that API keys need, by method; `urls` sets them. `door` says which credentials are accepted.
    Synchronous views wait for nothing but the database.
    """

    authentication_classes = ()
    permission_classes = ()
    parser_classes = (StrictJSONParser,)
    content_negotiation_class = OneFormat
    # Set here, so that a host project's settings for Django REST framework change nothing.
    renderer_classes = (JSONRenderer,)
    throttle_classes = ()
    versioning_class = None
    # Not in a project's own schema: `assistant.contrib.docs` describes these views by their operations.
    schema = None
    metadata_class = None
    rules: Mapping[str, Rule] = {}
    door = API
    caller: Caller

    @property
    def member(self) -> Member:
        return self.caller.member

    def dispatch(self, request: HttpRequest, *args: Any, tenant: str, **kwargs: Any) -> HttpResponseBase:
        self.tenant_slug = tenant
        return super().dispatch(request, *args, **kwargs)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        if "Transfer-Encoding" in request.headers:
            # A chunked body has no length; Django REST framework would treat it as empty.
            request.META["CONTENT_LENGTH"] = "-1"
        made: Request = super().initialize_request(request, *args, **kwargs)
        return made

    def perform_authentication(self, request: Request) -> None:
        """Do nothing: `initial` authenticates."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        rule = self.rule_of(request.method or "")
        self.caller = caller_of(request._request, rule, tenant_slug=self.tenant_slug, door=self.door)
        if (thread := kwargs.get("thread")) is not None:
            # The handler's arguments.
            self.kwargs["thread"] = own_row(member=self.member, conversation_id=thread)

    def rule_of(self, method: str) -> Rule:
        """Return the scopes that a method needs; any, if the address does not know it."""
        return self.rules.get("GET" if method == "HEAD" else method, ANY)

    def run_of(self, request: Request) -> str:
        """Return the id of the run that a request with an `Idempotency-Key` starts; empty if it starts none."""
        return ""

    def body_to_store(self, body: Any) -> Any:
        """Return the part of a response body that is stored for replays. It must not contain secrets."""
        return body

    def stored_to_body(self, stored: Any) -> Any:
        """Return the response body for what `body_to_store` returned."""
        return stored

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return answer_error


class AsyncTenantView(TenantView):
    """A view with coroutines as handlers, for requests that wait for more than the database."""

    view_is_async = True

    async def dispatch(  # type: ignore[override]  # as in Django's View with async handlers
        self, request: HttpRequest, *args: Any, tenant: str, **kwargs: Any
    ) -> HttpResponseBase:
        self.tenant_slug, self.args, self.kwargs = tenant, args, kwargs
        self.headers = self.default_response_headers
        self.request = self.initialize_request(request, *args, **kwargs)
        try:
            APIView.initial(self, self.request, *args, **kwargs)
            rule = self.rule_of(request.method or "")
            self.caller = await acaller_of(request, rule, tenant_slug=tenant, door=self.door)
            if (thread := kwargs.get("thread")) is not None:
                kwargs["thread"] = await in_database(own_row, member=self.member, conversation_id=thread)
            handler = getattr(self, (request.method or "").lower(), None)
            if handler is None:
                raise MethodNotAllowed(request.method or "")
            response = await handler(self.request, *args, **kwargs)
        except Exception as exc:
            response = self.handle_exception(exc)
        self.response = self.finalize_response(self.request, response, *args, **kwargs)
        return self.response


def validated(serializer: type[Serializer[Any]], data: Any) -> dict[str, Any]:
    """Return the validated data of a request body. Raises `ValidationError`."""
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    values: dict[str, Any] = checked.validated_data
    return values


def validated_query(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return the validated data of a query string. Raises `ValidationError`, for unknown parameters too."""
    unknown = set(request.query_params) - set(serializer().fields)
    if unknown:
        raise ValidationError({name: ["There is no such parameter."] for name in sorted(unknown)})
    return validated(serializer, request.query_params.dict())


def claim_request(member: Member, request: HttpRequest, body: Any, run_id: str = "") -> Claim | None:
    """Claim the request's `Idempotency-Key`; None if it has none.

    `run_id`: the run that the request starts, if it starts one.

    Raises:
        HttpRefusal: 400, the key is not valid.
        KeyReused: the key was sent with another request.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    mark = fingerprint(method=request.method or "", path=request.path, body=body)
    if member.reads_only_own_runs:
        # The stored answer of another key's request is not for it to read.
        mark = fingerprint(method=f"key {member.key_id}", path=mark, body=None)
    try:
        return claim(member=member, key=key, fingerprint=mark, run_id=run_id)
    except ValueError as exc:
        raise HttpRefusal(400, "invalid_input", str(exc), {"Idempotency-Key": [str(exc)]}) from exc


def _claim(view: TenantView, request: Request) -> Claim | None:
    return claim_request(view.member, request._request, request.data, view.run_of(request))


def settle(view: TenantView, claimed: Claim, response: Response | None) -> None:
    """Store a successful response for replays. After an error, release the key, because nothing was done."""
    if response is not None and response.status_code < 300:
        # Rendered as it is sent, with datetimes and UUIDs as strings.
        body = None if response.data is None else json.loads(JSONRenderer().render(response.data))
        store_answer(member=view.member, claim=claimed, status=response.status_code, body=view.body_to_store(body))
    else:
        release_claim(member=view.member, claim=claimed)


Handler = Callable[..., Response]
AsyncHandler = Callable[..., Awaitable[Response]]


def idempotent(handler: Handler) -> Handler:
    """Replay the first response to a POST that is sent again with the same `Idempotency-Key`.

    The claim, the work and the stored response are one transaction, so that a crash leaves all of them or none. The
    same request sent at the same time waits for the transaction.
    """

    @wraps(handler)
    def wrapper(self: TenantView, request: Request, **kwargs: Any) -> Response:
        with transaction.atomic():
            claimed = _claim(self, request)
            if claimed is None:
                return handler(self, request, **kwargs)
            if claimed.status is not None:
                return replay(self, claimed)
            response = handler(self, request, **kwargs)
            settle(self, claimed, response)
            return response

    return wrapper


def idempotent_async(handler: AsyncHandler) -> AsyncHandler:
    """Like `idempotent`, for coroutines. The claim is its own transaction: a simultaneous repeat gets 409."""

    @wraps(handler)
    async def wrapper(self: AsyncTenantView, request: Request, **kwargs: Any) -> Response:
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

    return wrapper


def replay(view: TenantView, claimed: Claim) -> Response:
    """Return the response that the first request got."""
    headers = {REPLAYED: "true", "Cache-Control": "no-store"}
    return Response(view.stored_to_body(claimed.body), status=claimed.status, headers=headers)
