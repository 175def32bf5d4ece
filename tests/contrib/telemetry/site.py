"""A site whose spans are written to a file, and the trace that its callers name."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from tests.api.calling import key_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.trace_parent import PARENT

Spans = list[dict[str, Any]]


class Site(NamedTuple):
    server: Server
    file: Path
    cast: Cast
    key: str
    model: FakeProvider

    def spans(self, name: str) -> Spans:
        """The spans that have ended so far and whose names begin so."""
        text, found, at = self.file.read_text(), [], 0
        while (start := text.find("{", at)) >= 0:
            span, at = json.JSONDecoder().raw_decode(text, start)
            found.append(span)
        return [span for span in found if span["name"].startswith(name)]

    def wait_for(self, name: str, *, trace: str = "") -> dict[str, Any]:
        """The only span whose name begins so, once it has ended; of one trace, if that is given."""
        deadline = time.monotonic() + 30
        while not (found := [one for one in self.spans(name) if trace in one["context"]["trace_id"]]):
            assert time.monotonic() < deadline, self.file.read_text() + self.server.log
            time.sleep(0.05)
        (span,) = found
        return span

    def post(self, path: str, body: Any, *, named: bool = True, token: str = "", **more: str) -> httpx2.Response:
        """Send a request, in the trace unless it is not to be `named`."""
        headers = {"Authorization": f"Bearer {token or self.key}", **(PARENT if named else {}), **more}
        answer = httpx2.post(self.server.url + path, json=body, headers=headers, timeout=60)
        assert answer.is_success, answer.text
        return answer


@contextmanager
def recorded_site(cast: Cast, model: FakeProvider, file: Path) -> Iterator[Site]:
    application = "tests.isolation.sites.recorded_asgi:application"
    env = {
        "TRACES": str(file),
        "ASSISTANT_TRACE_CONTENT": "true",
        "DJANGO_SETTINGS_MODULE": "tests.contrib.webhooks.settings",
    }
    with serve(application=application, env=env) as server:
        yield Site(server, file, cast, key_of(cast.acme, cast.alice), model)
