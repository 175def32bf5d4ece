"""Asks an OpenAI-compatible server what an operator wants to know: its models, and whether it takes a key and a model.

Unlike the errors of runs, those of here have the server's own reason: they are for those who configure providers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.messages import Message
from assistant.providers.openai import http_clients
from assistant.providers.openai_wire.error_sentences import NO_KEY, TOO_SLOW
from assistant.providers.openai_wire.refusals import OPENAI_URL
from assistant.providers.openai_wire.request_body import request_body
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.guards.url_guard import UnsafeUrl, UrlGuard

if TYPE_CHECKING:
    import httpx2

    from assistant.providers.openai_wire.http_clients import Client

MAX_MODELS, MAX_NAME, MAX_REASON = 1_000, 200, 300
MAX_BYTES = 2 * 2**20
QUESTION = "Answer with the word yes."
# The openai package refuses an empty key, and many servers need none.
_NO_KEY = "no-key"
# Servers repeat keys in their reasons, some of them whole.
_KEYS = re.compile(r"\b(?:sk|pk|key|Bearer)[-_ ][\w*.-]{6,}")


@dataclass(frozen=True, slots=True)
class Server:
    """An address up to `/v1` ("" is OpenAI's own) with its key. `guard` is for addresses that tenants have set."""

    base_url: str
    api_key: str = field(repr=False)
    guard: UrlGuard | None = None


class ProbeFailed(Exception):
    """The server did not answer as asked. The message has its own reason, on one line and without keys."""


async def list_models(server: Server, *, seconds: float) -> tuple[str, ...]:
    """Return the names of the models that a server lists, sorted; at most `MAX_MODELS`. Raises `ProbeFailed`."""
    async with probing(server, seconds):
        client = await _client(server)
        content = await _read(await client.get_models(seconds=seconds))
    try:
        names = {one["id"] for one in load_json(content)["data"]}
    except (ValueError, KeyError, TypeError):
        raise ProbeFailed("It answered with something that is no list of models.") from None
    return usable_names(names)


def usable_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return what can be the name of a model, once each, sorted; at most `MAX_MODELS`."""
    usable = {name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()}
    return tuple(sorted(usable)[:MAX_MODELS])


async def try_model(server: Server, model: str, *, seconds: float) -> None:
    """Ask a model for an answer, and stop it at its first words. Raises `ProbeFailed`."""
    request = ModelRequest([Message("user", QUESTION)])
    content = request_body(request, model=model, strict=False, with_usage=False)
    async with probing(server, seconds):
        client = await _client(server)
        response = await client.ask(content, seconds=seconds, max_retries=0, headers={})
        first = await _read(response, until=b"\n")
        if (reported := _reported_error(first)) is not None:
            raise ProbeFailed(_clean(reported, server))
        if not first.strip():
            raise ProbeFailed("It answered with nothing.")


@asynccontextmanager
async def probing(server: Server, seconds: float) -> AsyncIterator[None]:
    """Bound a probe in time, and raise `ProbeFailed` for every error within it."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ProbeFailed(TOO_SLOW) from None
    except ProbeFailed:
        raise
    except ModelError as exc:  # of the models of other wire formats
        origin = exc.__cause__ or exc.__context__
        said = str(exc.details or "") or (str(exc) if origin is None else _reason(origin))
        raise ProbeFailed(_clean(said, server)) from None
    except Exception as exc:  # of the openai package, which only `http_clients` imports
        raise ProbeFailed(_clean(_reason(exc), server)) from None


async def _client(server: Server) -> Client:
    url = server.base_url or OPENAI_URL
    if not server.api_key and url.startswith(OPENAI_URL):
        raise ProbeFailed(NO_KEY)
    clients = await http_clients.get()
    client: Client = await clients.client_of(url, server.api_key or _NO_KEY, server.guard, None)
    return client


async def _read(response: httpx2.Response, *, until: bytes = b"") -> bytes:
    """Return the body, or its beginning with the first line if `until` ends it, and close the response."""
    content = b""
    try:
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                content += chunk
                if len(content) > MAX_BYTES:
                    raise ProbeFailed("It answered with more than can be read.")
                if until and until in content.lstrip():
                    return content.lstrip().partition(until)[0]
    finally:
        await response.aclose()
    return content


def _reported_error(line: bytes) -> str | None:
    """Return the error that a stream begins with, or that is answered in place of one; None if there is none."""
    try:
        found = load_json(line.removeprefix(b"data:"))
    except ValueError:
        return None
    error = found.get("error") if isinstance(found, dict) else None
    if isinstance(error, dict):
        return str(error.get("message") or error.get("code") or error)
    return str(error) if error else None


def _reason(exc: BaseException) -> str:
    """Return the server's own reason, or why it could not be asked."""
    status_error: Any = exc
    while status_error is not None:
        if isinstance(status_error, UnsafeUrl):
            return str(status_error)
        if (status := getattr(status_error, "status_code", None)) is not None:
            body = getattr(status_error, "body", None)
            said = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, dict) else body
            return f"{said or getattr(status_error, 'message', '')} (status {status})"
        if "Timeout" in type(status_error).__name__:
            return TOO_SLOW
        status_error = status_error.__cause__ or status_error.__context__
    return f"It cannot be reached ({type(_first(exc)).__name__})."


def _first(exc: BaseException) -> BaseException:
    while (earlier := exc.__cause__ or exc.__context__) is not None:
        exc = earlier
    return exc


def _clean(text: str, server: Server) -> str:
    """Return a text of the server's on one line, shortened, and without keys."""
    if server.api_key:
        text = text.replace(server.api_key, "…")
    text = _KEYS.sub("…", " ".join(text.split()))
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"
