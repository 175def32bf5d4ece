"""Runs every command and Python snippet of the documents, each document in its own deployment."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from assistant.models import Provider
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.docs.snippets import DOCUMENTS, ROOT, Block, blocks
from tests.fake_provider import FakeProvider
from tests.live import Server, free_port
from tests.python_template import forked_python

SECONDS = 280
# They run the suite itself or install what it needs; .ci/run or `make test-wide` runs each of them.
RUN_BY_CI = {"make test", "make lint", "make conformance"}
RUN_BEFORE_RELEASE = {"make test-model"}
# Documents whose snippets are run by other tests.
ELSEWHERE = {
    "AGENTS.md", "saas.md", "testing.md", "releases.md", "tools.md", "websocket.md", "widget.md", "mcp.md", "rest.md",
    "openai.md", "responses.md", "webhooks.md", "attachments.md", "README.md", "extensions.md", "try-it.md",
    "first-tool.md", "into-your-project.md", "go-live.md", "service.md", "backup.md",
}  # fmt: skip
# Lines for a file of a reader's own project, which other tests write into one.
OF_A_FILE = "# mysite/"
TOLD = [path for path in DOCUMENTS if path.name not in ELSEWHERE and blocks(path, "sh", "python")]


@dataclass(frozen=True)
class Deployment:
    """A database of its own, and an environment in which commands of a reader run."""

    environment: dict[str, str]
    port: int

    def run(self, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"

    def serve(self, script: str) -> None:
        """Run a script that serves until it is stopped, and wait until it answers."""
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            assert self._answers(process), process.communicate(timeout=5)[0][-4000:] if process.poll() else "no answer"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=30)

    def _answers(self, process: subprocess.Popen[str]) -> bool:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                    return bool(answer.status == 200)
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        return False


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh database, made once and copied for each document."""
    path = tmp_path_factory.mktemp("migrated") / "db.sqlite3"
    environment = os.environ | {"ENV_FILE": os.devnull, "DATABASE_URL": f"sqlite:///{path}"}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", "SECRET_KEY": "of-nothing", "REDIS_URL": ""}
    subprocess.run([str(forked_python()), "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    return path


@pytest.fixture
def deployment(tmp_path: Path, migrated: Path, fake_provider: FakeProvider) -> Iterator[Deployment]:
    shutil.copy(migrated, tmp_path / "db.sqlite3")
    port = free_port()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not re.match("PYTEST_|TEST_|DJANGO_|MAKE|MFLAGS|DEBUG", name)
    }
    yield Deployment(
        inherited
        | {
            "PATH": f"{forked_python().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "VENV": sys.prefix,
            "PORT": str(port),
            "MODEL": "none",
            "FILES": str(tmp_path),
            "ENV_FILE": os.devnull,
            "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
            "REDIS_URL": "",
            "INSECURE_HTTP": "true",
            "SECRET_KEY": "only-for-the-tests-and-therefore-no-secret-0123456789",
            "ASSISTANT_FIELD_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "OPENAI_BASE_URL": fake_provider.url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "test-model",
        },
        port,
    )


# Creates the users that a document mentions; zip files are written to a temporary folder.
PEOPLE = """
from django.contrib.auth import get_user_model
from assistant.services.tenancy.memberships import add_member
from assistant.services.tenancy.tenants import create_tenant
get_user_model().objects.create_superuser("boss", password="a-better-one-than-this")
get_user_model().objects.create_user("milton")
add_member(tenant=create_tenant(slug="initech", name="Initech", owner="boss"), username="milton", role="member")
"""
CONTRACTS = """
from assistant.contrib.collections.models import Collection
from assistant.models import Tenant
tenant = Tenant.objects.get(slug="initech")
Collection.objects.create(tenant=tenant, name="Contracts")
"""
PREPARED = {"incidents.md": PEOPLE, "collections.md": PEOPLE + CONTRACTS}


def prepare(block: Block, port: int) -> str:
    """The block as a reader runs it, but on a free port and without what only CI runs."""
    elsewhere = RUN_BY_CI | RUN_BEFORE_RELEASE
    lines = [line for line in block.text.splitlines() if line.split("  #")[0].strip() not in elsewhere]
    # Collected files would be served in place of the checkout's own, to every later run.
    lines = [line.replace("collectstatic --noinput", "collectstatic --noinput --dry-run") for line in lines]
    lines = [line.replace("--file ", '--file "$FILES"/') for line in lines]
    return re.sub(r"(127\.0\.0\.1:|--port )8000", rf"\g<1>{port}", "\n".join(lines)) + "\n"


@pytest.mark.once
@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", TOLD, ids=lambda path: path.name)
def test_the_commands_and_snippets_of_a_document_run(document: Path, deployment: Deployment) -> None:
    if document.name in PREPARED:
        deployment.run([str(forked_python()), "manage.py", "shell", "-v0", "-c", PREPARED[document.name]])
    story = told = ""
    found = [block for block in blocks(document, "sh", "python") if not block.text.startswith(OF_A_FILE)]
    for block in [*found, None]:
        if story != told and (block is None or block.language != "python"):
            # Snippets that follow each other run at once: a process for each would only repeat those before it.
            deployment.run([str(forked_python()), "-c", story])
            told = story
        if block is None:
            return
        text = prepare(block, deployment.port)
        if block.language == "python" and "django" in block.words:
            deployment.run([str(forked_python()), "manage.py", "shell", "-v0", "-c", text])
        elif block.language == "python":
            story += text
        elif "serve" in block.words:
            deployment.serve(text)
        elif "production" in block.words:
            production = deployment.environment | {"INSECURE_HTTP": "false", "ALLOWED_HOSTS": "example.com"}
            production["SECRET_KEY"] = Fernet.generate_key().decode() + "-and-more"
            Deployment(production, deployment.port).run(["bash", "-euo", "pipefail", "-c", text])
        else:
            deployment.run(["bash", "-euo", "pipefail", "-c", text])


def test_commands_left_to_ci_are_run_there() -> None:
    script = (ROOT / ".ci/run").read_text()
    targets = {command.removeprefix("make ") for command in RUN_BY_CI}
    assert all(re.search(rf"(make|suite \w+ \d+) {target}\b", script) for target in targets)
    (parts,) = re.findall(r"for one in (release-check.*); do", (ROOT / "Makefile").read_text())
    assert {command.removeprefix("make ") for command in RUN_BEFORE_RELEASE} <= {*parts.split()}


def test_the_websocket_client_of_the_documents_gets_an_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Half past nine.")
    _, key = create_api_key(tenant=cast.acme, user=cast.alice, name="docs")
    (block,) = blocks(ROOT / "docs/websocket.md", "python")
    script = block.text.replace("ws://127.0.0.1:8000", uvicorn_server.url.replace("http", "ws"))
    done = subprocess.run(
        [str(forked_python()), "-c", script], env={**os.environ, "API_KEY": key}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "Half past nine.", done.stderr
