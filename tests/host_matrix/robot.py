"""Uses the whole assistant in a host: its pages, its part of the host's admin, its APIs, streams, widget and uploads.

It runs in the host's own environment, and asks the host's running server. `python robot.py talk ORIGIN REPORT` uses
what answers questions; `python robot.py open ORIGIN REPORT ROLE ...` makes a row of each model and goes everywhere.
The report is JSON: what broke, what was opened, and the statuses by address and role, which the matrix compares between
hosts.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import sys
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import django
import httpx2

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.auth.models import AnonymousUser  # noqa: E402
from django.db import models  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import NoReverseMatch, reverse  # noqa: E402
from django.utils.translation import override  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402
from websockets.typing import Origin, Subprotocol  # noqa: E402

from assistant.contrib.end_users.models import WidgetOrigin  # noqa: E402
from assistant.models import Assistant, Membership, Tenant  # noqa: E402
from assistant.services.addresses import api_url  # noqa: E402
from assistant.services.tenancy.members import create_api_key  # noqa: E402
from assistant.services.tenancy.row_scope import all_tenants  # noqa: E402
from tests.isolation.doors import Address, _values, addresses  # noqa: E402
from tests.isolation.planting import APPS, Planter, tenant_models, tenant_path  # noqa: E402

# Seconds for one answer: a project with a debug toolbar on a busy machine is slow.
PATIENCE = 300
LANGUAGES = ("en", "de")
# What the server says on purpose: 426 and 501 are for those who open a websocket's address without one.
FAILURES = frozenset(range(500, 600)) - {501}
# `readyz` answers 503 for a development site, as it should.
MAY_BE_503 = ("readyz",)
LINKS = re.compile(r'<(?:a|link|script|img)\b[^>]*?\s(?:href|src)="([^"]+)"')
# Text of a template that nothing has rendered, and markup that was escaped.
DEBRIS = re.compile(r"\{%|&lt;(?:a|span|button|svg) ")
# Documentation is in English.
IN_ENGLISH = ("/docs/",)
QUESTION = "Which invoices are there?"


@dataclass
class Report:
    """What the robot found. `statuses` has for each address and role what was answered."""

    broken: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    statuses: dict[str, list[int]] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def check(self, is_right: bool, said: str) -> None:
        if not is_right:
            self.broken.append(said)


class Visitor:
    """Somebody who is signed in, in one language."""

    def __init__(self, origin: str, role: str, user: Any, language: str = "en") -> None:
        self.role = role
        self.language = language
        self.http = httpx2.Client(base_url=origin, timeout=PATIENCE, headers={"Accept-Language": language})
        signed_in = Client()
        if not isinstance(user, AnonymousUser):
            signed_in.force_login(user)
            self.session = signed_in.cookies[settings.SESSION_COOKIE_NAME].value
            self.http.cookies.set(settings.SESSION_COOKIE_NAME, self.session)
        self._token = uuid.uuid4().hex
        self.http.cookies.set(settings.CSRF_COOKIE_NAME, self._token)

    def send(self, method: str, path: str, **options: Any) -> Any:
        headers = {"X-CSRFToken": self._token, "Referer": str(self.http.base_url)}
        return self.http.request(method, path, headers=headers, **options)


class Robot:
    """One visit of a host."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.report = Report()
        with all_tenants():
            self._make_people()

    def _make_people(self) -> None:
        self.tenant = Tenant.objects.get(slug="acme")
        members = {one.role: one for one in self.tenant.memberships.select_related("user")}
        membership = members[Membership.Role.MEMBER]
        self.helper = Assistant.objects.get(tenant=self.tenant, slug="helper")
        self.people = {
            "operator": get_user_model().objects.filter(is_superuser=True).earliest("pk"),
            "admin": members[Membership.Role.ADMIN].user,
            "member": membership.user,
        }
        self._membership = membership
        WidgetOrigin.objects.get_or_create(tenant=self.tenant, assistant=self.helper, origin=self.origin)
        scopes = ["chat", "read", "tools", "end_users"]
        _, self.key = create_api_key(tenant=self.tenant, user=self.people["admin"], name="robot", scopes=scopes)

    def places(self, language: str) -> dict[str, str]:
        """Where this host has the assistant and its admin, in a language."""
        with override(language):
            socket = api_url("websocket", tenant="acme", assistant="helper")
            found = {"mount": reverse("assistant:home"), "socket": socket}
            try:
                found["admin"] = reverse("admin:index")
            except NoReverseMatch:
                found["admin"] = ""
        found["apis"] = found["socket"].split("ws/")[0]
        return found

    def talk(self) -> Report:
        """Ask everything that answers, and leave sessions for a browser."""
        self.report.places = self.places("en")
        self.report.cookies = {role: Visitor(self.origin, role, user).session for role, user in self.people.items()}
        asyncio.run(self._use_streams())
        return self.report

    def _newest(self, model: type[models.Model]) -> models.Model | None:
        """The row that a model has had last of the tenant: the same one in each host, whatever its key is."""
        of_tenant = model._default_manager.filter(**{str(tenant_path(model)): self.tenant.pk})
        dates = [field for field in model._meta.fields if isinstance(field, models.DateTimeField)]
        made = [field.name for field in dates if field.auto_now_add]
        return of_tenant.order_by(*made[:1], "pk").last()

    def open(self, roles: Sequence[str]) -> Report:
        """Open all addresses in these roles and each language, then send every method to the APIs."""
        with all_tenants():
            there = [row for model in tenant_models() if (row := self._newest(model)) is not None]
            own = (*there, self._membership, self.helper)
            self.rows = Planter(self.tenant, self._membership.user, *own).plant_all()
        for role in roles:
            shown: set[str] = set()
            for language in LANGUAGES:
                visitor = Visitor(self.origin, role, self.people[role], language)
                links = self.open_all(visitor, shown)
                if role == "operator":
                    self.follow(visitor, links, language)
        for role in (one for one in reversed(roles) if one != "operator"):
            self.call_all(Visitor(self.origin, role, self.people[role]))
        return self.report

    def ours(self, language: str) -> Iterator[tuple[Address, str]]:
        """Every address of the assistant, and of its models in the host's admin, with rows in it."""
        places = self.places(language)
        with override(language):
            found = list(addresses())
        for address in found:
            in_admin = bool(places["admin"]) and address.path.startswith(places["admin"])
            if in_admin and not re.match(f"{places['admin']}({'|'.join(APPS)})/", address.path):
                continue
            if not in_admin and not address.path.startswith((places["mount"], places["apis"])):
                continue
            if "logout" in address.path or "content_type_id" in address.parameters:
                continue
            filled: list[dict[str, str]] = [{}]
            for parameter in address.parameters:
                values = _values(parameter, address, self.rows)
                filled = [{**one, parameter: value} for one in filled for value in values[:1]]
            for one in filled:
                yield address, address.path % one

    def plain(self, path: str, language: str) -> str:
        """An address as it is in every host: without language and mount."""
        places = self.places(language)
        for name in ("admin", "mount", "apis"):
            if places[name] and path.startswith(places[name]):
                return f"{'admin' if name == 'admin' else 'assistant'}/{path.removeprefix(places[name])}"
        return path

    def note(self, visitor: Visitor, method: str, address: Address, answer: Any) -> None:
        """Write down a status; a failure of the server is broken whatever other hosts say."""
        key = f"{visitor.role} {visitor.language} {method} {self.plain(address.path, visitor.language)}"
        seen = set(self.report.statuses.get(key, ())) | {answer.status_code}
        self.report.statuses[key] = sorted(seen)
        self.report.counts[f"{method} {answer.status_code}"] += 1
        fine = answer.status_code not in FAILURES or (
            answer.status_code == 503 and answer.url.path.rstrip("/").endswith(MAY_BE_503)
        )
        self.report.check(fine, f"{key}: {answer.status_code} {answer.url.path} {answer.text[:300]}")

    def open_all(self, visitor: Visitor, shown: set[str]) -> dict[str, str]:
        """Open every address; return the links of the pages, each with a page that has it.

        In the second language these are the pages that the first one has `shown`, but for the control panel's own
        mount, which has the pages of the admin again.
        """
        links: dict[str, str] = {}
        is_first = visitor.language == LANGUAGES[0]
        for address, path in self.ours(visitor.language):
            plain = self.plain(address.path, visitor.language)
            if not is_first and (plain not in shown or plain.startswith("assistant/panel/")):
                continue
            with visitor.http.stream("GET", path) as answer:
                if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                    answer.read()
                else:
                    next(answer.iter_bytes(), b"")
                    answer._content = b""
            self.note(visitor, "GET", address, answer)
            is_page = answer.headers.get("content-type", "").startswith("text/html") and answer.status_code == 200
            if is_page:
                self.report.counts["pages"] += 1
                shown.add(plain)
                links |= self.read(visitor, path, answer.text)
        return links

    def read(self, visitor: Visitor, path: str, text: str) -> dict[str, str]:
        """Look at a page's text, and return its links."""
        who = f"{visitor.role} {visitor.language} {path}"
        # A part of a page has no language of its own.
        language = re.search(r"<html[^>]*\slang=\"([\w-]+)", text)
        is_told = language is None or language[1].split("-")[0] == visitor.language
        self.report.check(is_told or any(part in path for part in IN_ENGLISH), f"{who}: in {language and language[1]}")
        shown = re.sub(r"<(script|style|template|textarea|pre|code)\b.*?</\1>", "", text, flags=re.DOTALL)
        debris = None if "/docs/" in path else DEBRIS.search(shown)
        self.report.check(debris is None, f"{who}: shows {debris and shown[debris.start() - 80 : debris.end() + 80]!r}")
        found = (html.unescape(link) for link in LINKS.findall(text))
        return {urljoin(path, link).split("#")[0]: path for link in found if not link.startswith(("#", "data:"))}

    def follow(self, visitor: Visitor, links: dict[str, str], language: str) -> None:
        """Open each link and file of the pages that was not opened yet."""
        opened = {path for _, path in self.ours(LANGUAGES[0])}
        tried: set[str] = set()
        for link, page in links.items():
            parts = urlsplit(link)
            if parts.netloc or parts.scheme or parts.path in opened | tried or "logout" in parts.path:
                continue
            tried.add(parts.path)
            answer = visitor.http.get(link)
            self.report.counts["links"] += 1
            fine = answer.status_code < 400 or "zeisig" in link
            self.report.check(fine, f"{language} {page}: its link {link} answers {answer.status_code}")

    def call_all(self, visitor: Visitor) -> None:
        """Send each method to each address of the APIs, the deleting ones last."""
        apis = [one for one in self.ours("en") if "/api/" in one[1] or "/v1/" in one[1]]
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for address, path in apis:
                options: dict[str, Any] = {} if method == "DELETE" else {"json": {}}
                self.note(visitor, method, address, visitor.send(method, path, **options))

    async def _use_streams(self) -> None:
        """Use the streams as programs and pages do: each has to end with the answer of the host's own tool."""
        session = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={self.report.cookies['member']}"}
        base = f"{self.origin}{self.places('en')['apis']}"
        rest = f"{base}api/v1/tenants/acme/"
        async with httpx2.AsyncClient(timeout=PATIENCE, headers={"Authorization": f"Bearer {self.key}"}) as http:
            self._check_answer("websocket", await self._over_websocket(headers=session))
            file = await http.post(f"{rest}attachments/", files={"file": ("note.txt", b"Half past nine", "text/plain")})
            self.report.check(file.status_code == 201, f"upload: {file.status_code} {file.text[:300]}")
            made = await http.post(f"{rest}conversations/", json={"assistant": "helper"})
            self.report.check(made.status_code == 201, f"conversation: {made.status_code} {made.text[:300]}")
            body = {"message": "Hello", "attachments": [file.json()["id"]]}
            run = await http.post(f"{rest}conversations/{made.json()['id']}/runs/", json=body)
            self.report.check(run.json().get("status") == "finished", f"file: {run.text[-600:]}")
            made = await http.post(f"{rest}conversations/", json={"assistant": "helper"})
            body = {"message": QUESTION}
            run = await http.post(f"{rest}conversations/{made.json()['id']}/runs/", json=body)
            self._check_answer("REST", run.text)
            self._check_answer("SSE", (await http.post(f"{rest}assistants/helper/runs/", json=run_input())).text)
            chat = {"model": "helper", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
            self._check_answer("/v1", (await http.post(f"{base}v1/chat/completions", json=chat)).text)
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
            accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
            told = await http.post(f"{base}mcp/", json=call, headers=accept)
            self.report.check("list_invoices" in told.text, f"MCP: {told.status_code} {told.text[:300]}")
            carl = {"user_id": "c-1", "name": "Carl"}
            minted = await http.post(f"{rest}assistants/helper/end-user-tokens/", json=carl)
            self.report.check(minted.status_code == 201, f"token: {minted.status_code} {minted.text[:300]}")
            protocols = ["agui.v1", f"bearer.{minted.json()['token']}"]
            self._check_answer("widget's websocket", await self._over_websocket(protocols=protocols))
        script = httpx2.get(f"{self.origin}/static/assistant/widget.js", timeout=PATIENCE)
        self.report.check(script.status_code == 200, f"widget.js: {script.status_code}")

    def _check_answer(self, door: str, text: str) -> None:
        self.report.counts["streams"] += 1
        # What the model makes of the tool's result, in one piece or as a stream.
        self.report.check("Acme" in text and "10.50" in text, f"{door}: {text[-600:]}")

    async def _over_websocket(self, *, headers: dict[str, str] | None = None, protocols: Sequence[str] = ()) -> str:
        address = self.origin.replace("http", "ws", 1) + self.places("en")["socket"]
        subprotocols = [Subprotocol(name) for name in protocols] or None
        frames = []
        async with connect(
            address, additional_headers=headers, origin=Origin(self.origin), subprotocols=subprotocols, proxy=None
        ) as socket:
            await socket.send(json.dumps(run_input()))
            async with asyncio.timeout(PATIENCE):
                async for frame in socket:
                    frames.append(str(frame))
                    if '"RUN_FINISHED"' in frames[-1] or '"RUN_ERROR"' in frames[-1]:
                        break
        return "\n".join(frames)


def run_input() -> dict[str, Any]:
    """A `RunAgentInput` with a question."""
    message = {"id": str(uuid.uuid4()), "role": "user", "content": QUESTION}
    beside = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": str(uuid.uuid4()), "runId": str(uuid.uuid4()), "messages": [message], **beside}


if __name__ == "__main__":
    task, origin, path, *roles = sys.argv[1:]
    robot = Robot(origin)
    Path(path).write_text(json.dumps(vars(robot.talk() if task == "talk" else robot.open(roles)), indent=1))
