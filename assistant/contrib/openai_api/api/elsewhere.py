"""Answers requests for addresses of OpenAI's API that do not exist here, and names those that do."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from assistant.contrib.openai_api.api.shapes import error
from assistant.contrib.openai_api.scopes import OPENAI

# By the first part of an address: what to use here instead.
INSTEAD: Mapping[str, str] = {
    "assistants": "Assistants are models here: GET /v1/models lists them, POST /v1/responses talks to one.",
    "completions": "Send messages to POST /v1/chat/completions, or input to POST /v1/responses.",
    "engines": "GET /v1/models lists the models.",
    "threads": "Conversations go on by previous_response_id or conversation of POST /v1/responses.",
    "uploads": "Files are uploaded whole, to POST /v1/files.",
    "vector_stores": "Documents are attached by input_file of POST /v1/responses.",
}
NOT_OFFERED = frozenset(
    {"audio", "batches", "containers", "embeddings", "evals", "fine_tuning", "images", "moderations", "realtime"}
)


@csrf_exempt
def nothing_here(request: HttpRequest, address: str = "") -> JsonResponse:
    """Answer 404 for an address that this API does not have."""
    return no_such_address(address)


def no_such_address(address: str) -> JsonResponse:
    """Return the answer for an address that does not exist, which names one that does."""
    return error(404, f"There is no /v1/{address[:100]} here. {_hint(address)}", code="not_found")


def _hint(address: str) -> str:
    first = address.partition("/")[0]
    known = [one for one in OPENAI if "<" not in one]
    if first in INSTEAD:
        return INSTEAD[first]
    if near := get_close_matches(address.strip("/")[:100], known, n=1):
        return f"Did you mean /v1/{near[0]}?"
    offered = ", ".join(f"/v1/{one}" for one in known)
    return f"{'It is not offered. ' if first in NOT_OFFERED else ''}There are {offered}."
