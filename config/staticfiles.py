"""WhiteNoise's middleware for asynchronous requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

from assistant.staticfiles import keep_for_ever, pack


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves static files. WhiteNoise's own middleware is synchronous: each waiting view would hold a thread."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def add_files(self, root: str, prefix: str | None = None) -> None:
        # Without `collectstatic`, files are found in their apps, so a missing folder is not an error.
        if self.autorefresh or Path(root).is_dir():
            super().add_files(root, prefix)

    def __call__(self, request: HttpRequest) -> Any:
        return self._answer(request) if self._is_async else super().__call__(request)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        # With autorefresh (in development) files are looked up on disk, so this runs in a thread.
        find = sync_to_async(self.find_file) if self.autorefresh else None
        found = await find(request.path_info) if find else self.files.get(request.path_info)
        if found is None:
            answer: HttpResponseBase = await self.get_response(request)
            return answer
        served: HttpResponseBase = await sync_to_async(self.serve)(found, request)
        keep_for_ever(request, served)
        pack(request, served)
        return served
