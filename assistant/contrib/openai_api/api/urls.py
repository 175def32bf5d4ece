"""URLs of the OpenAI-compatible API, without a slash at the end, as its clients send them."""

from __future__ import annotations

from django.urls import path, re_path

from assistant.contrib.openai_api.addresses import RESPONSES
from assistant.contrib.openai_api.api import conversations, elsewhere, files, responses, views

urlpatterns = [
    path("models", views.models),
    path("models/<str:model>", views.model),
    path("chat/completions", views.create),
    path("responses", responses.responses, name=RESPONSES),
    path("responses/<str:response>", responses.one_response),
    path("responses/<str:response>/cancel", responses.cancel),
    path("responses/<str:response>/input_items", responses.items),
    path("conversations", conversations.conversations),
    path("conversations/<str:conversation>", conversations.one_conversation),
    path("conversations/<str:conversation>/items", conversations.items),
    path("files", files.files),
    path("files/<str:file>", files.one_file),
    path("files/<str:file>/content", files.content),
    re_path(r"^(?P<address>[\s\S]*)\Z", elsewhere.nothing_here),
]
