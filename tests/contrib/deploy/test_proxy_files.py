"""The deployment files agree with production.md."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
import re
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from django.conf import settings
from django.urls import reverse
from uvicorn.config import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from assistant.asgi.body_limits import BODY_TIMEOUT_SECONDS
from assistant.asgi.request_heads import OPTION
from assistant.contrib.deploy.files import TEMPLATES
from assistant.contrib.deploy.plan import upload_paths
from assistant.core.values.frame_sizes import MAX_SERVER_FRAME
from assistant.toolkit.logs import JsonLines
from tests.docs.snippets import ROOT, blocks

DEPLOY = ROOT / "docs/deploy"
UNIT = (DEPLOY / "tenant-assistant@.service").read_text()
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE = (DEPLOY / "compose.yaml").read_text()


def flags(command: str) -> set[str]:
    """The options of a uvicorn command, without where it listens."""
    said = re.findall(r"(--[a-z-]+)(?: ([^\s-]\S*))?", command)
    return {f"{name} {value}".strip() for name, value in said if name not in {"--host", "--port", "--no-server-header"}}


def test_every_file_starts_the_server_as_the_document_does() -> None:
    (told,) = re.findall(r"^uvicorn config.asgi.*$", (ROOT / "docs/production.md").read_text(), re.MULTILINE)
    (unit,) = re.findall(r"^ExecStart=\S+(.*)$", UNIT, re.MULTILINE)
    container = " ".join(json.loads(re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[-1]))
    assert flags(told) == flags(unit) == flags(container)


def test_gunicorns_worker_has_the_options_of_the_server() -> None:
    (worker,) = [one.text for one in blocks(ROOT / "docs/production.md", "python") if "UvicornWorker" in one.text]
    given = ast.literal_eval(worker.partition("CONFIG_KWARGS = ")[2])
    (told,) = re.findall(r"^uvicorn config.asgi.*$", (ROOT / "docs/production.md").read_text(), re.MULTILINE)
    assert flags(told) == {
        f"--{name.replace('_', '-')} {str(value).replace('False', 'false')}" for name, value in given.items()
    }
    assert Config("mysite.asgi:application", log_config=None, **given).ws_max_size == MAX_SERVER_FRAME


def test_every_command_bounds_the_frames_that_the_server_takes() -> None:
    pages = [ROOT / f"docs/{page}.md" for page in ("production", "saas", "service", "into-your-project")]
    places = [*pages, *(path for path in DEPLOY.iterdir() if path.is_file())]
    texts = [re.sub(r'", ?"', " ", path.read_text()) for path in places]
    commands = [line for text in texts for line in re.findall(r"uvicorn \w+\.asgi:application.*", text)]
    assert len(commands) == 6
    assert all(re.search(rf"--ws-max-size {MAX_SERVER_FRAME}\b", command) for command in commands)
    assert all(OPTION in command for command in commands)


def test_the_development_server_has_the_same_bound() -> None:
    sizes = {settings.DAPHNE_WEBSOCKET_MAX_MESSAGE_SIZE, settings.DAPHNE_WEBSOCKET_MAX_FRAME_SIZE}
    assert sizes == {MAX_SERVER_FRAME}


def test_the_container_is_given_all_that_the_site_needs() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE)) | {"manage.py"}
    assert copied == {"manage.py", "config", "assistant", "tools", "templates", "docs"}


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_proxies_do_not_expose_metrics_and_readiness(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert "/metrics" in text and "/readyz" in text


UNITS = {"k": 1024, "KiB": 1024, "m": 1024**2, "MiB": 1024**2}


@pytest.mark.parametrize(
    ("name", "size"), [("nginx.conf", r"client_max_body_size (\d+)(\w+);"), ("Caddyfile", r"max_size (\d+)(\w+)\n")]
)
def test_proxies_have_the_bounds_of_the_process(name: str, size: str) -> None:
    text = (DEPLOY / name).read_text()
    sizes = {int(number) * UNITS[unit] for number, unit in re.findall(size, text)}
    assert sizes == {settings.ASSISTANT_MAX_BODY_BYTES, settings.ASSISTANT_MAX_UPLOAD_BYTES}
    assert reverse("admin:assistant_document_add").startswith("/admin/assistant/document/")
    for path in upload_paths():
        assert path.replace("*", "[^/]+" if name == "nginx.conf" else "*") in text
    assert name == "Caddyfile" or f"client_body_timeout  {BODY_TIMEOUT_SECONDS}s;" in text


@pytest.mark.parametrize(
    ("path", "is_limited"),
    [
        ("/ws/acme/support/", True),
        ("/api/v1/tenants/acme/conversations/", True),
        ("/v1/chat/completions", True),
        ("/mcp/", True),
        ("/api/v1/tenants/acme/attachments/", True),
        ("/v1/files", True),
        ("/t/acme/", False),
        ("/static/assistant/chat.css", False),
    ],
)
def test_nginx_limits_handshakes_and_api_requests(path: str, is_limited: bool) -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    # The first expression that matches a path decides.
    locations = re.findall(r"location ~ (\S+) \{\n(.*?)\n    \}", text, re.DOTALL)
    found = next((rules for pattern, rules in locations if re.search(pattern, path)), "")
    assert "limit_req_zone  $binary_remote_addr zone=tenant_assistant_requests:" in text
    zones = "limit_req  zone=tenant_assistant_requests ", "limit_conn tenant_assistant_connections "
    for rule in (*zones, "error_page 429 "):
        assert (rule in found) == is_limited


def test_every_deployment_file_is_documented() -> None:
    told = (ROOT / "docs/production.md").read_text()
    assert [path.name for path in DEPLOY.iterdir() if path.name not in told and path.suffix != ".service"] == []


def test_the_printed_command_gives_compose_what_it_fills_in() -> None:
    (command,) = re.findall(r"^# (docker compose .* up -d)$", COMPOSE, re.MULTILINE)
    services = yaml.safe_load(COMPOSE)["services"]
    (given,) = re.findall(r"--env-file (\S+)", command)
    assert services["web"]["env_file"] == services["migrate"]["env_file"] == [f"${{SERVER_ENV_FILE:-{given}}}"]


def client_seen(forwarded_allow_ips: str, connects_from: str) -> str:
    """The client that uvicorn tells of, with a request that a proxy at an address forwards for 203.0.113.9."""
    scope: Any = {
        "type": "http",
        "client": (connects_from, 1),
        "headers": [(b"x-forwarded-for", b"203.0.113.9")],
        "scheme": "http",
    }
    asyncio.run(ProxyHeadersMiddleware(cast(Any, _answer_nothing), forwarded_allow_ips)(scope, *[cast(Any, None)] * 2))
    return str(scope["client"][0])


async def _answer_nothing(*_: Any) -> None:
    pass


@pytest.mark.parametrize("place", [DEPLOY / "compose.yaml", TEMPLATES / "compose.yaml"], ids=["own", "generated"])
def test_compose_trusts_the_gateway_that_a_proxy_on_the_host_comes_through(place: Path) -> None:
    described = yaml.safe_load(re.sub(r"@\w+@", "x", place.read_text()))
    web, (network,) = described["services"]["web"], described["networks"]["default"]["ipam"]["config"]
    trusted = web["environment"]["FORWARDED_ALLOW_IPS"]
    assert trusted == network["gateway"] and ip_address(trusted) in ip_network(network["subnet"])
    assert client_seen(trusted, connects_from=network["gateway"]) == "203.0.113.9"
    # Neither another container nor, should the port be published further, a client from outside.
    neighbour = str(ip_network(network["subnet"])[2])
    assert client_seen(trusted, connects_from=neighbour) == neighbour
    assert [port.rsplit(":", 2)[0] for port in web["ports"]] == ["127.0.0.1"]


def test_the_unit_trusts_a_proxy_on_the_same_host_and_the_environment_file_wins() -> None:
    # systemd applies EnvironmentFile= after all Environment= lines.
    assert re.findall(r"^Environment=FORWARDED_ALLOW_IPS=(.*)$", UNIT, re.MULTILINE) == ["127.0.0.1"]
    assert client_seen("127.0.0.1", connects_from="127.0.0.1") == "203.0.113.9"


def test_the_container_s_role_is_no_superuser() -> None:
    services = yaml.safe_load(COMPOSE)["services"]
    logs_in = re.match(r"postgres://(\w+):", services["web"]["environment"]["DATABASE_URL"])
    superuser = services["postgres"]["environment"].get("POSTGRES_USER", "postgres")
    (script,) = [
        place.split(":")[0] for place in services["postgres"]["volumes"] if "docker-entrypoint-initdb.d" in place
    ]
    made = re.findall(r"CREATE ROLE (\w+) LOGIN PASSWORD", (DEPLOY / script).read_text())
    assert logs_in and [logs_in[1]] == made != [superuser]


def test_every_field_of_a_json_log_line_is_documented() -> None:
    try:
        raise ValueError
    except ValueError:
        record = logging.LogRecord("assistant", logging.ERROR, "", 0, "x", (), sys.exc_info(), sinfo="here")
    vars(record).update(dict.fromkeys(JsonLines.FIELDS, 1))
    (told,) = re.findall(r"\*\*Logs\.\*\*(.*?)The request id", (ROOT / "docs/production.md").read_text(), re.DOTALL)
    assert set(json.loads(JsonLines().format(record))) == set(re.findall(r"`(\w+)`", told))
