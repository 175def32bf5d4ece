"""Asks a provider what an operator wants to know: its models, and whether it takes a key and a model.

Unlike the errors of runs, those of here have the server's own reason: they are for those who configure providers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.messages import Message
from assistant.providers import FORMATS, model_class
from assistant.providers.failure_masking import without_keys
from assistant.providers.openai import http_clients
from assistant.providers.openai_wire.error_sentences import NO_KEY, TOO_SLOW
from assistant.providers.openai_wire.refusals import OPENAI_URL
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.guards.url_guard import UnsafeUrl, UrlGuard

if TYPE_CHECKING:
    import httpx2

MAX_MODELS = 1_000
MAX_NAME = 200
MAX_REASON = 300
MAX_BYTES = 2 * 2**20
QUESTION = "Answer with the word yes."
# The openai package refuses an empty key, and many servers need none.
_NO_KEY = "no-key"


@dataclass(frozen=True, slots=True)
class Server:
    """An address up to `/v1` ("" is OpenAI's own) with its key. `guard` is for addresses that tenants have set."""

    base_url: str
    api_key: str = field(repr=False)
    guard: UrlGuard | None = None


class ProbeFailed(Exception):
    """The server did not answer as asked. The message has its own reason, on one line and without keys."""


async def list_models(server: Server, *, wire_format: str, seconds: float) -> tuple[str, ...]:
    """Return the names of the models that a server lists, sorted; at most `MAX_MODELS`. Raises `ProbeFailed`."""
    await _import_package(wire_format)
    async with _probing(server, seconds):
        if FORMATS[wire_format].has_kinds:  # of OpenAI, which has one list
            return _usable_names(await _openai_models(server, seconds))
        return _usable_names(await _model(server, "", wire_format, seconds).list_models(MAX_MODELS))


async def try_model(server: Server, model: str, *, wire_format: str, seconds: float) -> None:
    """Ask a model for an answer, and stop it at its first words. Raises `ProbeFailed`."""
    request = ModelRequest([Message("user", QUESTION)])
    await _import_package(wire_format)
    async with (
        _probing(server, seconds),
        aclosing(_model(server, model, wire_format, seconds).stream(request)) as deltas,
    ):
        await anext(deltas)


async def _import_package(wire_format: str) -> None:
    """Import the provider's package before the time of a probe starts: the first import in a process takes seconds.

    OpenAI's package is imported when the process starts.
    """
    if not FORMATS[wire_format].has_kinds:
        await model_class(wire_format).clients.get()


def _model(server: Server, model: str, wire_format: str, seconds: float) -> Any:
    return model_class(wire_format)(
        model,
        base_url=server.base_url,
        api_key=server.api_key,
        guard=server.guard,
        timeout=seconds,
        max_retries=0,
    )


async def _openai_models(server: Server, seconds: float) -> set[object]:
    url = server.base_url or OPENAI_URL
    if not server.api_key and url.startswith(OPENAI_URL):
        raise ProbeFailed(NO_KEY)
    clients = await http_clients.get()
    client = await clients.client_of(url, server.api_key or _NO_KEY, server.guard, None)
    try:
        return {one["id"] for one in load_json(await _read(await client.get_models(seconds=seconds)))["data"]}
    except (ValueError, KeyError, TypeError):
        raise ProbeFailed("It answered with something that is no list of models.") from None


async def _read(response: httpx2.Response) -> bytes:
    """Return the body of a response, and close it."""
    content = b""
    try:
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                content += chunk
                if len(content) > MAX_BYTES:
                    raise ProbeFailed("It answered with more than can be read.")
    finally:
        await response.aclose()
    return content


def _usable_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return what can be the name of a model, once each, sorted; at most `MAX_MODELS`."""
    usable = {name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()}
    return tuple(sorted(usable)[:MAX_MODELS])


@asynccontextmanager
async def _probing(server: Server, seconds: float) -> AsyncIterator[None]:
    """Bound a probe in time, and raise `ProbeFailed` for every error within it."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ProbeFailed(TOO_SLOW) from None
    except ProbeFailed:
        raise
    except ModelError as exc:
        details = str(exc.details or "")
        raise ProbeFailed(_clean(f"{exc} ({details})" if details else str(exc), server)) from None
    except Exception as exc:  # of the openai package, which only `http_clients` imports
        raise ProbeFailed(_clean(_reason(exc), server)) from None


def _reason(exc: BaseException) -> str:
    """Return the server's own reason, or why it could not be asked."""
    cause: Any = exc
    while cause is not None:
        if isinstance(cause, UnsafeUrl):
            return str(cause)
        if (status := getattr(cause, "status_code", None)) is not None:
            body = getattr(cause, "body", None)
            said = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, dict) else body
            return f"{said or getattr(cause, 'message', '')} (status {status})"
        if "Timeout" in type(cause).__name__:
            return TOO_SLOW
        exc = cause
        cause = cause.__cause__ or cause.__context__
    return f"It cannot be reached ({type(exc).__name__})."


def _clean(text: str, server: Server) -> str:
    """Return a text of the server's on one line, shortened, and without keys."""
    text = without_keys(" ".join(text.split()), [server.api_key] if server.api_key else [])
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"
