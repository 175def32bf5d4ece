"""Asks a running deployment through its proxy, as browsers do."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
from django.templatetags.static import static

from assistant.contrib.deploy.content_policy import policy_finding
from assistant.contrib.deploy.findings import Finding
from assistant.contrib.deploy.plan import api_mounts, page_mounts

_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def outside_findings(url: str) -> Iterator[Finding]:
    """Yield what a deployment at `url` (such as https://assistant.example.com) answers to requests from outside."""
    with httpx2.Client(base_url=url, timeout=15, follow_redirects=False) as client:
        try:
            alive = client.get(f"{api_mounts()[0]}healthz").status_code
        except httpx2.HTTPError as exc:
            reason = str(exc) or type(exc).__name__
            yield Finding("proxy", f"{url} does not answer: {reason}", "Start the proxy and the servers.")
            return
        yield Finding(
            "proxy",
            f"{api_mounts()[0]}healthz answers {alive}",
            "" if alive == 200 else "Let the proxy pass all paths to the servers' ports.",
        )
        for address in (f"{mount}{name}" for mount in api_mounts() for name in ("readyz", "metrics")):
            status = client.get(address).status_code
            fix = "Let the proxy answer 404; see docs/production.md." if status in {200, 503} else ""
            yield Finding("proxy", f"{address} answers {status}", fix)
        style = static("assistant/css/chat.css")
        status = client.get(style).status_code
        fix = "Run collectstatic and let the proxy serve STATIC_ROOT, or leave ASSISTANT_STATIC_FROM_SERVER on."
        yield Finding("static files", f"{style} answers {status}", "" if status == 200 else fix)
        for mount in page_mounts():
            page = client.get(f"{mount}accounts/login/")
            yield policy_finding(page.headers.get("content-security-policy", ""), mount)
        # The server refuses a websocket without credentials with 403. 426 means that the proxy did not pass the upgrade
        # on.
        for mount in api_mounts():
            status = client.get(f"{mount}ws/-/-/", headers=_UPGRADE).status_code
            fix = f"Let the proxy pass the headers Upgrade and Connection at {mount}ws/, over HTTP/1.1."
            yield Finding("websockets", f"{mount}ws/ answers {status} to a handshake", "" if status == 403 else fix)
