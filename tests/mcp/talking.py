"""An MCP client over plain HTTP, which shows exactly what is sent and received."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

MODERN = "2026-07-28"
OLDER = "2025-11-25"
Json = dict[str, Any]
_ids = itertools.count(1)


def headers(key: str | None, method: str = "", name: str = "", version: str = MODERN) -> dict[str, str]:
    made = {"accept": "application/json, text/event-stream", "mcp-protocol-version": version}
    if key is not None:
        made["authorization"] = f"Bearer {key}"
    if version == MODERN and method:
        made["mcp-method"] = method
        if name:
            made["mcp-name"] = name
    return made


def message(
    method: str, params: Mapping[str, Any] | None = None, *, version: str = MODERN, capabilities: Json | None = None
) -> Json:
    """A request; of 2026-07-28 with what each must say of its client."""
    full = dict(params or {})
    if version == MODERN:
        full["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities or {},
            **full.get("_meta", {}),
        }
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": full}


class Client:
    """One caller of `/mcp/` with a key, or with none."""

    def __init__(self, url: str, key: str | None, *, version: str = MODERN, capabilities: Json | None = None) -> None:
        self.url = f"{url}/mcp/"
        self.key = key
        self.version = version
        self.capabilities = capabilities
        self.http = httpx2.Client(timeout=60)

    def post(self, method: str, params: Mapping[str, Any] | None = None, **more_headers: str) -> httpx2.Response:
        name = str((params or {}).get("name") or (params or {}).get("uri") or "")
        body = message(method, params, version=self.version, capabilities=self.capabilities)
        # Escaped, as JSON may have halves of characters.
        content = json.dumps(body).encode()
        whole = {"Content-Type": "application/json"} | headers(self.key, method, name, self.version) | more_headers
        return self.http.post(self.url, content=content, headers=whole)

    def ask(self, method: str, params: Mapping[str, Any] | None = None, **more_headers: str) -> Json:
        """The whole answer to a request, with its `result` or `error`."""
        return answers(self.post(method, params, **more_headers))[-1]

    def result(self, method: str, params: Mapping[str, Any] | None = None) -> Json:
        answer = self.ask(method, params)
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Json:
        return self.result("tools/call", {"name": tool, "arguments": dict(arguments or {}), **more})

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.result("tools/list")["tools"]]


def answers(response: httpx2.Response) -> list[Json]:
    """Return every message of a response, which is JSON or a stream."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return list(events(response.text.splitlines()))
    return [response.json()]


def events(lines: Any) -> Iterator[Json]:
    for line in lines:
        if line.startswith("data:") and line[5:].strip():
            yield json.loads(line[5:])


@contextmanager
def streaming(client: Client, method: str, params: Mapping[str, Any]) -> Iterator[Iterator[Json]]:
    """The messages of a request's stream as they come; leaving the block closes the connection."""
    body = message(method, params, version=client.version, capabilities=client.capabilities)
    sent = headers(client.key, method, str(params.get("name", "")), client.version)
    with client.http.stream("POST", client.url, json=body, headers=sent) as response:
        yield events(response.iter_lines())


def text_of(result: Json) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
