"""Fetches pages of a site: by the guard, with bounds, redirects by hand, and pauses between requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import httpx2
from cachetools import TTLCache
from django.utils.translation import gettext as _

from assistant.contrib.sources.models import MAX_ADDRESS
from assistant.contrib.sources.services.robots import AGENT
from assistant.services.knowledge.files import MAX_FILE_BYTES
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.guarded_http import ResponseTooLong, guarded_client

# A page with its redirects, and one wait for bytes.
PAGE_SECONDS = 60.0
READ_SECONDS = 20.0
MAX_REDIRECTS = 5
# Seconds between two requests of a process to a host, and the most that a site's robots.txt is followed in.
PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 30.0
# A path may have these as they are.
_SAFE = "/%:@!$&'()*+,;=~-._"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({429, 503})
_next_at: TTLCache[str, float] = TTLCache(10_000, 600.0)


class NotFetched(Exception):
    """A page could not be fetched; the message says why to people."""


class SiteBusy(NotFetched):
    """The site asks to be left alone for a while."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came for an address. `url` is where redirects have led to."""

    url: str
    status: int
    headers: httpx2.Headers
    content: bytes


def address_of(base: str, link: str) -> str:
    """Return the address that a link of a page leads to, without its fragment; "" if that is no page."""
    try:
        parts = urlsplit(urljoin(base, link.strip()))
        host = parts.hostname or ""
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return ""
    netloc = host if port is None else f"{host}:{port}"
    path = quote(parts.path or "/", safe=_SAFE)
    address = urlunsplit((parts.scheme, netloc, path, quote(parts.query, safe=f"{_SAFE}?"), ""))
    return address if len(address) <= MAX_ADDRESS and address.isascii() else ""


class Fetcher:
    """Fetches pages of one site, one after the other.

    Args:
        allows: whether an address may be asked for, those that redirects lead to too.
    """

    def __init__(self) -> None:
        self.pause = PAUSE_SECONDS
        self._client = guarded_client(
            tenant_guard(),
            max_bytes=MAX_FILE_BYTES,
            timeout=httpx2.Timeout(READ_SECONDS),
            follow_redirects=False,
            headers={"user-agent": f"{AGENT} (documents of assistants)"},
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def get(
        self, url: str, *, headers: Mapping[str, str], allows: Callable[[str], str] = lambda url: ""
    ) -> Fetched:
        """Return what comes for an address.

        Args:
            allows: says why an address that a redirect leads to may not be asked for, or "".

        Raises:
            NotFetched: nothing comes in time, too much, or from where it may not.
        """
        try:
            async with asyncio.timeout(PAGE_SECONDS + 10 * self.pause):
                for _hop in range(MAX_REDIRECTS + 1):
                    fetched = await self._asked(url, headers)
                    location = fetched.headers.get("location", "")
                    if fetched.status not in _REDIRECTS or not location:
                        return fetched
                    url = address_of(url, location)
                    if problem := allows(url) if url else _("It leads to an address that is not read."):
                        raise NotFetched(problem)
        except ResponseTooLong as exc:
            raise NotFetched(_("It is larger than %(size)s MB.") % {"size": MAX_FILE_BYTES // 1024**2}) from exc
        except (TimeoutError, httpx2.TimeoutException) as exc:
            raise NotFetched(_("The site does not answer in time.")) from exc
        except httpx2.ConnectError as exc:
            raise NotFetched(_("The site cannot be reached, or its address may not be opened.")) from exc
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as exc:
            raise NotFetched(_("The site's answer cannot be read.")) from exc
        raise NotFetched(_("It is redirected more than %(most)s times.") % {"most": MAX_REDIRECTS})

    async def _asked(self, url: str, headers: Mapping[str, str]) -> Fetched:
        await self._turn(urlsplit(url).netloc)
        async with self._client.stream("GET", url, headers=dict(headers)) as response:
            if response.status_code in _BUSY:
                raise SiteBusy(_("The site asks to be left alone for a while."))
            content = await response.aread() if response.is_success else b""
            return Fetched(url, response.status_code, response.headers, content)

    async def _turn(self, host: str) -> None:
        """Wait until the host may be asked again, whoever's source asked it last."""
        now = asyncio.get_running_loop().time()
        at = max(now, _next_at.get(host, 0.0))
        _next_at[host] = at + min(self.pause, MAX_PAUSE_SECONDS)
        await asyncio.sleep(at - now)
