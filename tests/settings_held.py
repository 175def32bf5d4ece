"""The tests' settings with a middleware that keeps every answer to a POST, on a server without garbage collection."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from tests.settings import *  # noqa: F403
from tests.settings import MIDDLEWARE

MIDDLEWARE = ["tests.settings_held.hold", *MIDDLEWARE]
gc.disable()


@async_only_middleware
def hold(answer: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> Callable[..., Awaitable[HttpResponseBase]]:
    async def held(request: HttpRequest) -> HttpResponseBase:
        made = await answer(request)
        if request.method == "POST":
            print("The answer is held.", flush=True)
            await asyncio.Event().wait()
        return made

    return held
