"""Records what a provider answers once, and replays it, so that tests need neither a network nor a key.

vcrpy does not know httpx2, which the openai package uses, and does not keep the pieces in which a stream arrives.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from assistant.providers.openai import OpenAIModel
from assistant.testing.cassette_file import (
    CassetteError,
    Exchange,
    body_of,
    chunk_of,
    content_of,
    describe,
    read_cassette,
    write_cassette,
)
from assistant.testing.masking import (
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    kept_headers,
    mask_path,
    mask_value,
    secrets_of,
    without_user,
)

Clean = Callable[[Any], Any]
RECORD = "RECORD_CASSETTES"
_OPENAI = "https://api.openai.com/v1"
_IDS = ("id", "tool_call_id")


class Cassette(httpx2.AsyncBaseTransport):
    """Replays a provider's recorded answers; a context manager. It is also the transport of `http_client`.

    A request is answered by the first recording with the same method, path and body that was not used yet. The network
    is never reached. A request that was not recorded gets an error, and the block ends with a `CassetteError` that
    names the difference.

    Args:
        path: the JSON file.
        record: ask the provider, and write the file at the end of the block; default: if `RECORD_CASSETTES` is set.
        clean: returns the body of a request as it is stored and compared, without what changes from one test run to the
            next, such as dates.

    Raises:
        CassetteError: there is no such file, or it cannot be read.
    """

    def __init__(self, path: str | Path, *, record: bool | None = None, clean: Clean | None = None) -> None:
        self.path = Path(path)
        self.is_recording = os.environ.get(RECORD, "") not in ("", "0", "false") if record is None else record
        self.http_client = httpx2.AsyncClient(transport=self)
        self._clean = clean or (lambda body: body)
        self._server = ""
        self._recorded: list[Exchange] = []
        self._problem: CassetteError | None = None
        if not self.is_recording:
            if not self.path.exists():
                raise CassetteError(f"There is no cassette {self.path}. Run the test once with {RECORD}=1.")
            self._server, self._recorded = read_cassette(self.path)

    def model(self, name: str, *, base_url: str | None = None, **options: Any) -> OpenAIModel:
        """Return a model whose requests are recorded or replayed.

        Args:
            name: the model's name at the provider.
            base_url: the provider's address; default `OPENAI_BASE_URL` when recording, then the recorded one.
            options: as for `OpenAIModel`. When recording, `api_key` is by default `OPENAI_API_KEY`.
        """
        if self.is_recording:
            base_url = (os.environ.get("OPENAI_BASE_URL") if base_url is None else base_url) or _OPENAI
            self._server = without_user(base_url)
        else:
            options["api_key"] = "replayed"
        return OpenAIModel(name, base_url=base_url or self._server, http_client=self.http_client, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._problem is not None:
            raise self._problem from error
        if self.is_recording and error is None:
            write_cassette(self.path, self._server, self._recorded)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of `http_client`."""
        content = await request.aread()
        secrets = secrets_of(request.headers)
        stored = {
            "method": request.method,
            "path": mask_path(str(request.url), secrets),
            "headers": kept_headers(request.headers, REQUEST_HEADERS),
            "body": self._clean(_with_numbered_ids(mask_value(body_of(content), secrets), {})),
        }
        if self.is_recording:
            self._recorded.append(Exchange(stored, await _ask(request, content, secrets)))
            return _response(self._recorded[-1].response)
        for number, exchange in enumerate(self._recorded):
            if not exchange.differences(stored):
                return _response(self._recorded.pop(number).response)
        return self._refuse(stored)

    def _refuse(self, request: dict[str, Any]) -> httpx2.Response:
        sentence = f"{self.path} has no recording of this request."
        if self._recorded:
            closest = min((one.differences(request) for one in self._recorded), key=len)
            sentence += f" The closest one differs:\n{describe(closest)}"
        else:
            sentence += " All recordings of it have been used."
        # Raised by `__exit__`: a model reports failures of its transport without their messages, and tries again.
        self._problem = self._problem or CassetteError(sentence)
        headers = {"x-should-retry": "false"}
        return httpx2.Response(501, headers=headers, json={"error": {"message": "This request was not recorded."}})


def _with_numbered_ids(value: Any, numbers: dict[str, str]) -> Any:
    """Return a body whose ids of calls are numbered: tenants' runs give each call a random one."""
    if isinstance(value, list):
        return [_with_numbered_ids(item, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: numbers.setdefault(item, f"id-{len(numbers) + 1}")
        if name in _IDS and isinstance(item, str)
        else _with_numbered_ids(item, numbers)
        for name, item in value.items()
    }


async def _ask(request: httpx2.Request, content: bytes, secrets: list[str]) -> dict[str, Any]:
    """Send a request to the provider; return the response as it is stored."""
    # Not compressed, so that the pieces of a stream are texts.
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
    plain = httpx2.Request(
        request.method, request.url, headers=[*headers, (b"accept-encoding", b"identity")], content=content,
        extensions=request.extensions,
    )  # fmt: skip
    async with httpx2.AsyncHTTPTransport() as transport:
        response = await transport.handle_async_request(plain)
        try:
            pieces = [piece async for piece in response.aiter_bytes() if piece]
        finally:
            await response.aclose()
    stored: dict[str, Any] = {
        "status": response.status_code,
        "headers": kept_headers(response.headers, RESPONSE_HEADERS),
    }
    if "event-stream" in response.headers.get("content-type", ""):
        stored["pieces"] = [mask_value(chunk_of(piece), secrets) for piece in pieces]
    else:
        stored["body"] = mask_value(body_of(b"".join(pieces)), secrets)
    return stored


def _response(stored: dict[str, Any]) -> httpx2.Response:
    pieces = stored["pieces"] if "pieces" in stored else [stored["body"]]
    return httpx2.Response(stored["status"], headers=stored["headers"], stream=_Pieces(pieces))


class _Pieces(httpx2.AsyncByteStream):
    """The body of a replayed response, in the pieces in which it was recorded."""

    def __init__(self, pieces: list[Any]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield content_of(piece)
