"""The site's addresses and two more that leak on purpose: the search for leaks must find them."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.urls import path

from assistant.models import Conversation
from config.urls import urlpatterns as honest


def read_any(request: HttpRequest, thread: uuid.UUID) -> HttpResponse:
    """Forgets whose conversation it is."""
    return HttpResponse(Conversation.objects.get(pk=thread).title)


def rename_any(request: HttpRequest, thread: uuid.UUID) -> HttpResponse:
    """Forgets it too, and says nothing."""
    if request.method == "POST":
        Conversation.objects.filter(pk=thread).update(title="renamed")
    return HttpResponse()


urlpatterns = [
    *honest,
    path("leak/read/<uuid:thread>/", read_any),
    path("leak/rename/<uuid:thread>/", rename_any),
]
