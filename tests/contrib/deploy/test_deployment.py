"""The generated files are accepted by the programs that read them, and each finding can be right and wrong."""

from __future__ import annotations

import datetime
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.core.management import CommandError, call_command
from django.urls import reverse

from assistant.asgi.body_sizes import size_bound
from assistant.contrib.deploy import site, stores
from assistant.contrib.deploy.content_policy import POLICY
from assistant.contrib.deploy.files import deployment_files
from assistant.contrib.deploy.plan import DeploymentPlan, upload_paths
from tests.docs.snippets import ROOT
from tests.live import free_port
from tests.site.test_optional_apps import run

CHECKOUT = DeploymentPlan(
    host="assistant.example.com",
    name="tenant-assistant",
    title="Tenant Assistant",
    directory="/srv/tenant-assistant",
    user="assistant",
    env_file="/etc/tenant-assistant/env",
    ports=(8001, 8002),
    asgi="config.asgi:application",
    settings_module="config.settings",
    environment="ENV_FILE=/dev/null",
    server_environment="ENV_FILE=/dev/null LOG_FORMAT=json",
    folder=ROOT / "docs/deploy",
    project=ROOT,
    listen=443,
    certificate="/etc/ssl/assistant.pem",
    certificate_key="/etc/ssl/assistant.key",
    mounts=("/",),
    pages=("/",),
    uploads=(
        "/api/v1/tenants/*/attachments/",
        "/api/v1/tenants/*/documents/",
        "/api/v1/tenants/*/assistants/*/runs/",
        "/v1/files",
        "/v1/chat/completions",
        "/v1/responses",
        "/admin/assistant/document/",
    ),
)
HOST = replace(
    CHECKOUT,
    host="crm.example.org",
    name="my-crm",
    asgi="crm.asgi:application",
    settings_module="crm.settings",
    mounts=("/help/assistant/",),
    pages=("/help/assistant/",),
    uploads=("/imports/", "/photos/"),
    static_url="/static/",
    static_root="/srv/my-crm/staticfiles",
)
PLANS = pytest.mark.parametrize("plan", [CHECKOUT, HOST, replace(HOST, uploads=())], ids=["checkout", "host", "plain"])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The files of a certificate that nobody trusts, and of its key."""
    folder, key = tmp_path_factory.mktemp("certificate"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crm.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "c.pem").write_bytes(signed.public_bytes(pem))
    (folder / "c.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    yield str(folder / "c.pem"), str(folder / "c.key")


def written(plan: DeploymentPlan, folder: Path) -> Path:
    for name, text in deployment_files(replace(plan, folder=folder, project=folder.parent)).items():
        (folder / name).write_text(text)
    return folder


def accepted(folder: Path, *command: str, **environment: str) -> str:
    """What a program said that read a file. Raises `AssertionError` with that if it refused."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "HOME": str(folder), **environment}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.proxies
def test_only_the_assistants_addresses_of_a_host_have_its_bounds_of_bodies() -> None:
    files = deployment_files(HOST)
    bounded = re.findall(
        r"\n    location ([^{]+) \{\n(?:        [^\n]+\n)*?        client_max_body_size", files["nginx.conf"]
    )
    assert [address for address in bounded if "help/assistant" not in address] == ["~ ^(/imports/|/photos/)"]
    assert "\n    client_max_body_size" not in files["nginx.conf"]
    assert "\t@others {\n\t\tpath /help/assistant/*\n" in files["Caddyfile"]


@PLANS
def test_nginx_accepts_its_file(plan: DeploymentPlan, tmp_path: Path, certificate: tuple[str, str]) -> None:
    pem, key = certificate
    written(replace(plan, listen=free_port(), certificate=pem, certificate_key=key), tmp_path)
    (tmp_path / "whole.conf").write_text(
        f"pid {tmp_path}/nginx.pid; error_log stderr; events {{}} http {{ access_log off; include nginx.conf; }}"
    )
    said = accepted(tmp_path, "nginx", "-t", "-q", "-p", str(tmp_path), "-c", str(tmp_path / "whole.conf"))
    assert "emerg" not in said and "warn" not in said


@pytest.mark.proxies
@PLANS
def test_caddy_accepts_its_file(plan: DeploymentPlan, tmp_path: Path) -> None:
    written(plan, tmp_path)
    said = accepted(tmp_path, "caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile")
    assert "Valid configuration" in said


@pytest.mark.proxies
@PLANS
def test_systemd_accepts_its_files(plan: DeploymentPlan, tmp_path: Path) -> None:
    programs = tmp_path / "srv/.venv/bin"
    programs.mkdir(parents=True)
    for name in ("uvicorn", "python"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    written(replace(plan, directory=str(tmp_path / "srv")), tmp_path)
    for unit in (f"{plan.name}@.service", f"{plan.name}-retention.service", f"{plan.name}-retention.timer"):
        assert accepted(tmp_path, "systemd-analyze", "verify", str(tmp_path / unit)) == ""


@pytest.mark.proxies
@PLANS
def test_compose_accepts_its_file(plan: DeploymentPlan, tmp_path: Path) -> None:
    (tmp_path / "env").write_text("SECRET_KEY=x\n")
    folder = tmp_path / "deploy"
    folder.mkdir()
    written(replace(plan, env_file=str(tmp_path / "env")), folder)
    said = accepted(folder, "docker-compose", "-f", "compose.yaml", "config", POSTGRES_PASSWORD="secret")
    assert f"context: {tmp_path}\n" in said and "dockerfile: deploy/Dockerfile" in said
    assert re.findall(r"FORWARDED_ALLOW_IPS: (\S+)", said) == re.findall(r"gateway: (\S+)", said) * 3 != []


@pytest.mark.proxies
def test_compose_shows_its_file_where_no_settings_are(tmp_path: Path) -> None:
    written(replace(HOST, env_file=str(tmp_path / "missing")), tmp_path)
    command = ("docker-compose", "-f", "compose.yaml", "config")
    told = accepted(tmp_path, *command, SERVER_ENV_FILE="env.example", POSTGRES_PASSWORD="secret")
    assert "DJANGO_SETTINGS_MODULE: crm.settings" in told


@PLANS
def test_kubernetes_asks_the_probes_and_waits_as_long_as_processes_take(plan: DeploymentPlan) -> None:
    files = deployment_files(plan)
    items = yaml.safe_load(files["kubernetes.yaml"])["items"]
    pods = {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in items if "template" in one["spec"]}
    assert [*pods] == [f"{plan.name}-migrate", plan.name, f"{plan.name}-worker"]
    services = yaml.safe_load(files["compose.yaml"])["services"]
    folder = f"/var/lib/{plan.name}"
    for pod, service in zip(pods.values(), ("migrate", "web", "worker"), strict=True):
        (container,) = pod["containers"]
        assert {"name": "ASSISTANT_ATTACHMENTS_DIR", "value": f"{folder}/attachments"} in container["env"]
        assert folder in {mount["mountPath"] for mount in container["volumeMounts"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] == services[service]["read_only"]
        if service != "migrate":
            grace = pod["terminationGracePeriodSeconds"]
            assert grace >= int(services[service]["stop_grace_period"].removesuffix("s"))
            assert container["livenessProbe"]["httpGet"]["path"] == f"{plan.mounts[0]}healthz"
    assert pods[plan.name]["containers"][0]["readinessProbe"]["httpGet"]["path"] == f"{plan.mounts[0]}readyz"
    (service,) = (one["spec"] for one in items if one["kind"] == "Service")
    assert service["selector"] == {"app": plan.name}


@PLANS
def test_no_placeholder_is_left_and_every_name_is_the_hosts_own(plan: DeploymentPlan, tmp_path: Path) -> None:
    text = "\n".join(deployment_files(plan).values())
    assert re.findall(r"@(?!too_many_requests)[a-z_]+@", text) == []
    assert f"location = {plan.mounts[0]}readyz" in text and f"health_uri {plan.mounts[0]}readyz" in text
    assert ("config.asgi" in text) == (plan is CHECKOUT)


@pytest.mark.parametrize(
    ("path", "is_limited"),
    [
        ("/help/assistant/ws/a/b/", True),
        ("/help/assistant/api/v1/", True),
        ("/help/assistant/mcp/", True),
        ("/ws/room/", False),
        ("/mcp/", False),
        ("/api/mine/", False),
        ("/help/", False),
    ],
)
def test_only_the_assistants_addresses_of_a_host_are_limited(path: str, is_limited: bool) -> None:
    text = deployment_files(HOST)["nginx.conf"]
    limited = re.findall(r"location ~ (\S+) \{\n\s+limit_req +zone=my_crm_requests\b", text)
    assert any(re.search(pattern, path) for pattern in limited) == is_limited


# Of compose and the image, the checkout has its own.
@pytest.mark.parametrize(
    "name",
    ["nginx.conf", "Caddyfile", "kubernetes.yaml"]
    + [f"tenant-assistant{end}" for end in ("@.service", "-retention.service", "-retention.timer")],
)
def test_the_files_in_the_documentation_are_the_generated_ones(name: str) -> None:
    assert (ROOT / "docs/deploy" / name).read_text() == deployment_files(CHECKOUT)[name]


def test_the_forms_of_the_admin_that_take_files_are_found() -> None:
    assert reverse("admin:assistant_document_changelist") in upload_paths()


def test_addresses_of_absent_apps_are_not_in_the_files() -> None:
    script = (
        "import django; django.setup()\n"
        "from assistant.contrib.deploy.plan import upload_paths\n"
        "from assistant.asgi.mounts import prefixes\n"
        "print([path for path in upload_paths() if path.startswith('/v1/')], prefixes())"
    )
    assert run(script, TEST_APPS="core").strip() == "[] ()"
    assert "/v1/files" in run(script) and "mcp/" in run(script)


def test_all_that_the_process_takes_as_an_upload_may_pass_the_proxies() -> None:
    assert set(CHECKOUT.uploads) == set(upload_paths())
    for path in (
        "/api/v1/tenants/acme/attachments/",
        "/api/v1/tenants/acme/assistants/support/runs/",
        "/api/v1/tenants/acme/documents/",
        "/v1/files",
        "/v1/chat/completions",
        "/v1/responses",
        "/admin/assistant/document/1/change/",
    ):
        assert size_bound({"path": path}) == settings.ASSISTANT_MAX_UPLOAD_BYTES
        (pattern,) = re.findall(
            r"location ~ (\S+) \{\n +client_max_body_size", deployment_files(CHECKOUT)["nginx.conf"]
        )
        assert re.search(pattern, path)


def test_the_host_has_the_port_if_it_is_not_that_of_https() -> None:
    usual, other = deployment_files(HOST), deployment_files(replace(HOST, listen=8443))
    assert "Host $host;" in usual["nginx.conf"] and "\ncrm.example.org {" in usual["Caddyfile"]
    # Origins of browsers have the port too, and are compared with the host.
    assert "Host $host:$server_port;" in other["nginx.conf"] and "\ncrm.example.org:8443 {" in other["Caddyfile"]


def test_proxies_send_the_policy_of_pages_that_are_the_assistants_alone(settings: Any) -> None:
    for name in ("nginx.conf", "Caddyfile"):
        assert POLICY in deployment_files(HOST)[name] and POLICY not in deployment_files(CHECKOUT)[name]
    settings.ASSISTANT_BASE_TEMPLATE = "chat_page.html"
    assert POLICY not in str(deployment_files(HOST))


def wait_until_it_listens(port: int) -> None:
    for _ in range(200):
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise AssertionError("The proxy did not start.")


class Pages(BaseHTTPRequestHandler):
    """Answers everything; one path with a policy of its own."""

    def do_GET(self) -> None:
        self.send_response(200)
        if self.path.endswith("/own/"):
            self.send_header("Content-Security-Policy", "default-src 'self'")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.proxies
def test_nginx_adds_the_policy_to_the_assistants_pages_only(tmp_path: Path, certificate: tuple[str, str]) -> None:
    port, pages = free_port(), ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    files = {"certificate": certificate[0], "certificate_key": certificate[1]}
    written(replace(HOST, listen=port, ports=(pages.server_port,), **files), tmp_path)
    own = "".join(
        f"{name}_temp_path {tmp_path}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body")
    )
    (tmp_path / "whole.conf").write_text(
        f"daemon off; pid {tmp_path}/nginx.pid; error_log stderr; events {{}} "
        f"http {{ access_log off; {own} include nginx.conf; }}"
    )
    command = ["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "whole.conf")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as proxy, httpx2.Client(verify=False) as client:
        try:
            wait_until_it_listens(port)
            sent = [
                client.get(f"https://127.0.0.1:{port}{path}", headers={"Host": "crm.example.org"}).headers.get_list(
                    "content-security-policy"
                )
                for path in ("/help/assistant/t/acme/", "/help/assistant/own/", "/help/", "/orders/")
            ]
        finally:
            proxy.terminate()
            pages.shutdown()
    assert sent == [[POLICY], ["default-src 'self'"], [], []]


def test_files_are_not_replaced_unless_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("assistant_deploy_files", "crm.example.org", "--folder", str(tmp_path / "deploy"))
    call_command(*words, "--ports", "9001", "--name", "crm")
    assert "server 127.0.0.1:9001 " in (tmp_path / "deploy/nginx.conf").read_text()
    with pytest.raises(CommandError, match="already"):
        call_command(*words, "--name", "crm")
    call_command(*words, "--name", "crm", "--overwrite")
    assert "crm@.service" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["a.example; }"],
        ["a.example", "--ports", "0"],
        ["a.example", "--ports", "70000"],
        ["a.example", "--user", "a b"],
        ["a.example", "--directory", "/srv/$(id)"],
        ["a.example", "--certificate", "relative.pem"],
    ],
)
def test_nothing_else_gets_into_files_that_root_reads(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        call_command("assistant_deploy_files", *words, "--folder", str(tmp_path / "deploy"))
    assert not (tmp_path / "deploy").exists()


def to_mend(findings: Any) -> set[str]:
    return {finding.part for finding in findings if finding.fix}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("DEBUG", True, "DEBUG"),
        ("ALLOWED_HOSTS", ["localhost"], "ALLOWED_HOSTS"),
        ("SECRET_KEY", "django-insecure-" + "x" * 50, "SECRET_KEY"),
        ("SECURE_PROXY_SSL_HEADER", None, "proxy"),
        ("SESSION_COOKIE_SECURE", False, "cookies"),
        ("ASSISTANT_STATIC_FROM_SERVER", False, "static files"),
        ("ASSISTANT_SETTINGS_PROBLEMS", [("ASSISTANT_MAX_RUNS", "must be a whole number")], "settings"),
        ("ASSISTANT_TENANT_LIMIT", "x", "settings"),
        ("DATA_UPLOAD_MAX_MEMORY_SIZE", 1000, "sizes"),
        ("LOGGING", {}, "logging"),
        ("OPENAI_API_KEY", "", "language model"),
        ("ASGI_APPLICATION", "nothing.here.application", "ASGI"),
        ("ROOT_URLCONF", "tests.commands.no_urls", "URLs"),
    ],
)
def test_each_lack_is_found(name: str, value: Any, part: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "crm.example.org"]
    settings.SECRET_KEY, settings.OPENAI_API_KEY = "x" * 60, "sk-test"
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.MIDDLEWARE = [one for one in settings.MIDDLEWARE if "static" not in one]
    settings.ASSISTANT_FIELD_ENCRYPTION_KEYS = ["another"]
    settings.ASGI_APPLICATION = "tests.commands.fresh_asgi.application"
    assert to_mend(site.site_findings()) == set()
    setattr(settings, name, value)
    # A server does not start with wrong settings.
    assert to_mend(site.site_findings()) - ({"ASGI"} if name == "ASSISTANT_SETTINGS_PROBLEMS" else set()) == {part}


@pytest.mark.django_db
def test_a_policy_that_the_proxy_may_send_is_asked_of_the_proxy(settings: Any) -> None:
    settings.MIDDLEWARE = [one for one in settings.MIDDLEWARE if "csp" not in one.lower()]
    settings.ASGI_APPLICATION = "tests.commands.fresh_asgi.application"
    assert "Content-Security-Policy" in to_mend(site.site_findings())
    assert "Content-Security-Policy" not in {one.part for one in site.site_findings(has_proxy=True)}


@pytest.mark.django_db
def test_redis_and_migrations_and_the_clock_are_looked_at(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ASSISTANT_REDIS_URL = ""
    assert {"database", "migrations", "clock", "Redis"} <= {finding.part for finding in stores.store_findings()}
    monkeypatch.setenv("WEB_CONCURRENCY", "4")
    assert "Redis" in to_mend(stores.store_findings())
    settings.ASSISTANT_REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert "Redis" in to_mend(stores.store_findings())


@pytest.mark.django_db
def test_a_folder_of_attachments_that_cannot_be_written_is_found(settings: Any, tmp_path: Path) -> None:
    settings.ASSISTANT_ATTACHMENTS_DIR = str(tmp_path / "made/by/the/first/upload")
    assert "attachments" not in to_mend(stores.store_findings())
    (tmp_path / "made").write_text("in the way")
    assert "attachments" in to_mend(stores.store_findings())


@PLANS
def test_processes_may_write_where_attached_files_are_stored(plan: DeploymentPlan) -> None:
    texts = deployment_files(plan)
    folder = f"/var/lib/{plan.name}"
    assert f"ASSISTANT_ATTACHMENTS_DIR={folder}/attachments\n" in texts["env.example"]
    for unit in (f"{plan.name}@.service", f"{plan.name}-worker@.service"):
        assert f"StateDirectory={plan.name}\n" in texts[unit]
    compose = yaml.safe_load(texts["compose.yaml"])
    for name in ("web", "worker", "migrate"):
        assert compose["services"][name]["volumes"] == [f"attachments:{folder}"]
        assert compose["services"][name]["environment"]["ASSISTANT_ATTACHMENTS_DIR"] == f"{folder}/attachments"
    # A new volume is given the owner of the image's folder.
    assert f"install -d -o {plan.user} -g {plan.user} -m 700 {folder}\n" in texts["Dockerfile"]


@pytest.mark.django_db
def test_a_variable_that_the_project_does_not_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://crm@db/crm_of_production")
    assert "DATABASE_URL" in to_mend(stores.store_findings())
    assert settings.DATABASES["default"]["NAME"] != "crm_of_production"
