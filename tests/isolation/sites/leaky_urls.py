"""The site's addresses and two that leak deliberately, which the tests must find."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.urls import path

from assistant.models import Conversation
from config.urls import urlpatterns as honest


def read_any(request: HttpRequest, thread: uuid.UUID) -> HttpResponse:
    """Show a conversation without checking whose it is."""
    return HttpResponse(Conversation.objects.get(pk=thread).title)


def rename_any(request: HttpRequest, thread: uuid.UUID) -> HttpResponse:
    """Rename a conversation without checking whose it is; the response shows nothing of it."""
    if request.method == "POST":
        Conversation.objects.filter(pk=thread).update(title="renamed")
    return HttpResponse()


urlpatterns = [
    *honest,
    path("leak/read/<uuid:thread>/", read_any),
    path("leak/rename/<uuid:thread>/", rename_any),
]
