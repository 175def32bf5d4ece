"""The openai client with request options and headers that are built once for each timeout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import httpx2
import openai
from openai._models import FinalRequestOptions

from assistant.toolkit.fast_paths import is_used

CONNECT_SECONDS = 5.0
PATH = "/chat/completions"
# The name of this fast path.
REQUEST_HEAD = "request head"
_STREAM = openai.AsyncStream[object]


class CachedHeadClient(openai.AsyncOpenAI):
    """Sends bodies to the chat-completions address. The other parts of a request are built once for each timeout."""

    _request_templates: dict[float | None, httpx2.Request]
    _options: dict[tuple[float, int], FinalRequestOptions]

    async def send_body(
        self, content: bytes, *, seconds: float, max_retries: int, headers: Mapping[str, str]
    ) -> httpx2.Response:
        """Send a request's body; returns the response, whose body has not been read. Raises what the package raises."""
        # With this `cast_to` the openai client returns the plain response without a stream object.
        if is_used(REQUEST_HEAD):
            options = self._options_of(seconds, max_retries).model_copy(update={"content": content, "headers": headers})
            response: Any = await self.request(httpx2.Response, options, stream=True, stream_cls=_STREAM)
        else:
            response = await self.post(
                PATH,
                cast_to=httpx2.Response,
                content=content,
                options={
                    "headers": dict(headers),
                    "max_retries": max_retries,
                    "timeout": httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
                    "follow_redirects": False,
                    "idempotency_key": "",
                },
                stream=True,
                stream_cls=_STREAM,
            )
        return cast(httpx2.Response, response)

    def _options_of(self, seconds: float, max_retries: int) -> FinalRequestOptions:
        cached = vars(self).setdefault("_options", {})
        options = cached.get((seconds, max_retries))
        if options is None:
            options = cached[seconds, max_retries] = FinalRequestOptions.construct(
                method="post",
                url=PATH,
                max_retries=max_retries,
                timeout=httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
                follow_redirects=False,  # a redirect would send the prompt to a host that was not configured
                idempotency_key="",  # keeps the package from generating one
            )
        return cast(FinalRequestOptions, options)

    def _build_request(self, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
        if retries_taken or not is_used(REQUEST_HEAD):
            return _without_telemetry(super()._build_request(options, retries_taken=retries_taken))
        templates = vars(self).setdefault("_request_templates", {})
        template = templates.get(options.timeout.read)
        if template is None:
            template = templates[options.timeout.read] = _without_telemetry(super()._build_request(options))
            for name in options.headers or ():
                del template.headers[name]
        headers = httpx2.Headers(template.headers, encoding=template.headers.encoding)
        headers["content-length"] = str(len(options.content))
        for name, value in (options.headers or {}).items():
            headers[name] = value
        stream = httpx2.ByteStream(options.content)
        request = httpx2.Request(
            template.method, template.url, headers=headers, stream=stream, extensions=template.extensions
        )
        request.read()
        return request


def _without_telemetry(request: httpx2.Request) -> httpx2.Request:
    """Remove the headers, half of all, that name the operating system, the processor and the Python version."""
    for name in [name for name in request.headers if name.startswith("x-stainless-")]:
        del request.headers[name]
    return request
