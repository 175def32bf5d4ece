"""The Django app of OpenAI's APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assistant.asgi.json_apis import JsonApi, add_api
from assistant.asgi.mounts import mount_websocket
from assistant.contrib.openai_api.addresses import PREFIX, RESPONSES, UPLOADS
from assistant.contrib.openai_api.error_bodies import error_body
from assistant.optional_apps import OptionalApp

if TYPE_CHECKING:
    from assistant.api.authentication import HttpRefusal


def refusal_body(refusal: HttpRefusal) -> dict[str, Any]:
    """Return the error for a request that does not reach the site."""
    return error_body(str(refusal), kind="invalid_request_error", code=refusal.code)


class OpenaiApiConfig(OptionalApp):
    name = "assistant.contrib.openai_api"
    label = "assistant_openai_api"
    verbose_name = "Assistant: OpenAI's APIs"
    for_programs = (f"/{PREFIX}",)

    def register(self) -> None:
        add_api(JsonApi(PREFIX, UPLOADS, refusal_body))
        mount_websocket(self.label, names=(RESPONSES,), module="assistant.contrib.openai_api.api.websocket")
