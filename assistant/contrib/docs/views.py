"""The pages at `docs/`: for those who may use the admin, or for everybody with `ASSISTANT_DOCS_PUBLIC`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assistant.contrib.docs.apps import describes_rest
from assistant.contrib.docs.asyncapi import asyncapi_document
from assistant.contrib.docs.documents import INDEX, contents, find_document, find_image
from assistant.contrib.docs.search import MAX_QUERY, search_documents


def _for_readers(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let those read who may. Who is not signed in is asked to; for others there is no such page."""

    @wraps(view)
    def read(request: HttpRequest, **captured: Any) -> HttpResponseBase:
        if settings.ASSISTANT_DOCS_PUBLIC or getattr(request.user, "is_staff", False):
            return view(request, **captured)
        if request.user.is_authenticated:
            raise Http404
        return redirect_to_login(request.get_full_path())

    return read


@require_safe
@_for_readers
def page(request: HttpRequest, slug: str = INDEX) -> HttpResponse:
    """Show one document with the table of contents."""
    document = find_document(slug)
    if document is None:
        raise Http404
    return render(request, "assistant/docs/page.html", {"document": document, **_navigation()})


@require_safe
@_for_readers
def search(request: HttpRequest) -> HttpResponse:
    """Show the passages that match the query in `q`."""
    query = request.GET.get("q", "")[:MAX_QUERY].strip()
    context = {"query": query, "found": search_documents(query), **_navigation()}
    return render(request, "assistant/docs/search.html", context)


def _navigation() -> dict[str, Any]:
    return {"groups": contents(), "describes_rest": describes_rest()}


@require_safe
@_for_readers
def image(request: HttpRequest, name: str) -> HttpResponseBase:
    """Serve an image of a document."""
    path = find_image(name)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/png")


@require_safe
@_for_readers
def asyncapi(request: HttpRequest) -> JsonResponse:
    """Serve the description of the websocket API as an AsyncAPI document."""
    scheme = "wss" if request.is_secure() else "ws"
    return JsonResponse(asyncapi_document(host=request.get_host(), scheme=scheme), json_dumps_params={"indent": 2})
