"""Reads the pages of a website: below the first page's folder, within bounds, as its robots.txt allows."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.files.base import File
from django.utils.translation import gettext as _

from assistant.contrib.sources.services import page_worker
from assistant.contrib.sources.services.fetching import Fetched, Fetcher, NotFetched, SiteBusy, address_of
from assistant.contrib.sources.services.pages import Known, Page, Plan, Progress, SourceFailed
from assistant.contrib.sources.services.robots import Robots, read_robots
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.toolkit.processes.child import ChildFailed, ChildLimits, run_in_child

InThread = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]
# Bytes of all pages of one reading.
MAX_BYTES = 300 * 1024 * 1024
# Addresses that wait to be read, in pages that may be.
WAITING_TIMES = 5
# Of what finds the links of a page; its time is that of readers of files.
LINKS_MEMORY = 512 * 1024**2
LINKS_OUTPUT = 30 * 1024**2
NICENESS = 10
_WORKER = Path(page_worker.__file__)
# The ending of files by the media type that a site says.
_ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}
# Character sets whose decoders take linear time.
_CHARSET = re.compile(
    r"utf-?8|us-ascii|iso-?8859-\d{1,2}|latin-?1|windows-125\d|cp125\d|koi8-[ru]|gb2312|gbk|gb18030|big5|shift_jis"
    r"|euc-jp|euc-kr",
    re.IGNORECASE,
)
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w-]{1,30})", re.IGNORECASE)


class Site:
    """A reading of one website.

    Args:
        in_thread: calls a function that blocks in a thread.
    """

    def __init__(self, plan: Plan, progress: Progress, in_thread: InThread) -> None:
        self._plan = plan
        self._progress = progress
        self._in_thread = in_thread
        self._fetcher = Fetcher()
        self._robots = Robots()
        self._bytes = 0
        self._waiting: deque[tuple[str, int]] = deque()
        self._seen: set[str] = set()
        self._start = plan.place

    async def pages(self) -> AsyncGenerator[Page, None]:
        """Yield the pages of the site: the first one, those that are known, and those that these lead to.

        Raises:
            SourceFailed: the first page or robots.txt cannot be read.
        """
        try:
            yield await self._first()
            for address, known in self._plan.known.items():
                self._add(address, known.depth)
            count = 1
            while self._waiting:
                if count >= self._plan.max_pages:
                    told = _("There are more than %(most)s pages: the others are not read.")
                    self._progress.problem = told % {"most": self._plan.max_pages}
                    return
                if self._bytes > MAX_BYTES:
                    self._progress.problem = _("The pages are too large together: the others are not read.")
                    return
                address, depth = self._waiting.popleft()
                count += 1
                try:
                    yield await self._page(address, depth)
                except SiteBusy as exc:
                    self._progress.problem = str(exc)
                    return
        finally:
            await self._fetcher.close()

    async def _first(self) -> Page:
        try:
            await self._read_robots(self._plan.place)
            self._refuse_forbidden(self._plan.place)
            fetched = await self._fetched(self._plan.place, allows=lambda url: "")
            # A site may have moved: where its first page is now, is the site.
            if _origin(fetched.url) != _origin(self._plan.place):
                await self._read_robots(fetched.url)
            self._start = fetched.url
            self._refuse_forbidden(fetched.url)
        except NotFetched as exc:
            raise SourceFailed(str(exc)) from exc
        if fetched.status not in (200, 304):
            raise SourceFailed(_("The site answers with the error %(status)s.") % {"status": fetched.status})
        self._seen |= {self._plan.place, fetched.url}
        return await self._taken(self._plan.place, 0, fetched)

    async def _read_robots(self, url: str) -> None:
        address = address_of(url, "/robots.txt")
        fetched = await self._fetcher.get(address, headers={})
        if fetched.status >= 500:
            raise SourceFailed(_("The site's robots.txt cannot be read."))
        # As RFC 9309 says, a site without one lets everything be read.
        self._robots = read_robots(fetched.content.decode(errors="replace")) if fetched.status == 200 else Robots()
        self._fetcher.pause = max(self._fetcher.pause, self._robots.delay)

    def _refuse_forbidden(self, url: str) -> None:
        if problem := self._forbidden(url):
            raise SourceFailed(problem)

    def _forbidden(self, url: str) -> str:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return "" if self._robots.allows(path) else _("The site's robots.txt does not let it be read.")

    def _outside(self, url: str) -> str:
        """Return why an address is not read, or ""."""
        folder = urlsplit(self._start).path.rpartition("/")[0] + "/"
        if _origin(url) != _origin(self._start) or not urlsplit(url).path.startswith(folder):
            return _("It leads to another site, or out of the first page's folder.")
        return self._forbidden(url)

    def _add(self, address: str, depth: int) -> None:
        is_room = len(self._waiting) < WAITING_TIMES * self._plan.max_pages
        if address and address not in self._seen and depth <= self._plan.max_depth and is_room:
            self._seen.add(address)
            self._waiting.append((address, depth))

    async def _fetched(self, address: str, *, allows: Callable[[str], str]) -> Fetched:
        known = self._plan.known.get(address, Known())
        headers = {"accept": ", ".join([*_ENDINGS, "*/*;q=0.1"])}
        if known.validator:
            headers["if-none-match"] = known.validator
        if known.modified:
            headers["if-modified-since"] = known.modified
        return await self._fetcher.get(address, headers=headers, allows=allows)

    async def _page(self, address: str, depth: int) -> Page:
        """Return a page. Raises `SiteBusy`."""
        if problem := self._outside(address):
            return Page(address, "gone", problem, depth)
        try:
            fetched = await self._fetched(address, allows=self._outside)
        except SiteBusy:
            raise
        except NotFetched as exc:
            return Page(address, "skipped", str(exc), depth)
        if fetched.url in self._seen - {address}:
            return Page(address, "gone", _("It leads to a page that is read already."), depth)
        self._seen.add(fetched.url)
        if fetched.status in (404, 410):
            return Page(address, "gone", _("The page is not there any more."), depth)
        if fetched.status not in (200, 304):
            told = _("The site answers with the error %(status)s.") % {"status": fetched.status}
            return Page(address, "skipped", told, depth)
        return await self._taken(address, depth, fetched)

    async def _taken(self, address: str, depth: int, fetched: Fetched) -> Page:
        """Return a page that came, and have the pages read that it leads to."""
        known = self._plan.known.get(address, Known())
        if fetched.status == 304:
            return Page(address, "unchanged", depth=depth, validator=known.validator, modified=known.modified)
        page = Page(
            address,
            "unchanged",
            depth=depth,
            validator=_sent_back(fetched, "etag"),
            modified=_sent_back(fetched, "last-modified"),
        )
        self._bytes += len(fetched.content)
        media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
        ending = _ENDINGS.get(media_type)
        if ending is None:
            told = _("Files of the type %(type)s are not read.") % {"type": media_type[:60] or "?"}
            return replace(page, outcome="skipped", about=told, has_changed=True)
        try:
            content = fetched.content
            title = ""
            if ending == ".html":
                content, title = await self._html(fetched, depth)
            digest = hashlib.sha256(title.encode() + b"\n" + content).hexdigest()
            if digest == known.digest:
                return replace(page, digest=digest)
            read = await self._in_thread(lambda: self._read(content, f"{_name(fetched.url)}{ending}"))
        except DocumentError as exc:
            return replace(page, outcome="skipped", about=str(exc), has_changed=True)
        except NotFetched as exc:
            return replace(page, outcome="gone", about=str(exc))
        named = Content(read.kind, read.text, address[:200], read.hidden)
        return replace(page, outcome="read", content=named, title=title or _title(read, fetched.url), digest=digest)

    def _read(self, content: bytes, name: str) -> Content:
        uploader = Uploader(f"tenant-{self._plan.tenant_id}", is_operator=True)
        return read_file(File(BytesIO(content), name=name), uploader=uploader)

    async def _html(self, fetched: Fetched, depth: int) -> tuple[bytes, str]:
        """Return the text of a page as HTML, and its title; have the pages read that it leads to.

        Raises:
            DocumentError: it cannot be read.
            NotFetched: it asks not to be kept.
        """
        try:
            output = await run_in_child(_WORKER, _utf8(fetched), _limits())
        except ChildFailed as exc:
            raise DocumentError(_("The page cannot be read.")) from exc
        page = json.loads(output)
        robots = f"{page['robots']},{fetched.headers.get('x-robots-tag', '')}".lower()
        if "nofollow" not in robots and "none" not in robots:
            base = address_of(fetched.url, page["base"]) or fetched.url
            for link in page["links"]:
                address = address_of(base, link)
                if address and not self._outside(address):
                    self._add(address, depth + 1)
        if "noindex" in robots or "none" in robots:
            raise NotFetched(_("The page asks not to be kept."))
        return page["html"].encode(), page["title"]


def _limits() -> ChildLimits:
    return ChildLimits(
        seconds=settings.ASSISTANT_FILE_READ_SECONDS,
        memory_bytes=LINKS_MEMORY,
        output_bytes=LINKS_OUTPUT,
        niceness=NICENESS,
    )


def _sent_back(fetched: Fetched, name: str) -> str:
    """Return a header that is sent back with the next request; "" of one that is no short text."""
    value = fetched.headers.get(name, "")
    return value if len(value) <= 100 and value.isascii() and value.isprintable() else ""


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _name(url: str) -> str:
    """Return a name for the file that a page is read as, without an ending."""
    return PurePosixPath(unquote(urlsplit(url).path)).stem[:100] or "page"


def _title(content: Content, url: str) -> str:
    first = content.text.lstrip().partition("\n")[0]
    return first.removeprefix("# ")[:200] if first.startswith("# ") else _name(url).replace("_", " ")


def _utf8(fetched: Fetched) -> bytes:
    """Return a page of HTML in UTF-8. Raises `DocumentError` for a character set that is not read."""
    said = fetched.headers.get("content-type", "").lower().partition("charset=")[2].partition(";")[0].strip("\"' ")
    meta = _META.search(fetched.content[:2048])
    charset = said or (meta[1].decode() if meta is not None else "utf-8")
    if not _CHARSET.fullmatch(charset):
        raise DocumentError(_("The character set %(name)s is not read.") % {"name": charset[:30]})
    try:
        return fetched.content.decode(charset, errors="replace").encode(errors="replace")
    except LookupError as exc:
        raise DocumentError(_("The character set %(name)s is not read.") % {"name": charset[:30]}) from exc
