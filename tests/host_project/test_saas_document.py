"""docs/saas.md and then docs/testing.md and AGENTS.md, word for word, on a blank project with a release's wheel."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.docs.snippets import ROOT, blocks
from tests.fake_provider import FakeProvider
from tests.host_project.installed import released, run
from tests.live import Server, free_port

DOCUMENT = ROOT / "docs/saas.md"
TESTING = ROOT / "docs/testing.md"
AGENTS = ROOT / "AGENTS.md"
# The reader's own base template, with the blocks that the document names.
BASE = "<p>Ours" + "".join(f"{{% block {name} %}}{{% endblock %}}" for name in ("title", "head", "content"))
IN_BASE = """
from django.test import Client
from django.contrib.auth import get_user_model
client = Client(headers={"host": "localhost"})
client.force_login(get_user_model().objects.get())
print(client.get("/assistant/t/initech/").content.decode())
"""
PIP_INSTALL = 'pip install "../tenant-assistant[all]"\n'


def write(text: str, project: Path) -> None:
    """Append a block to the file that its first line names, in a comment of Python or of a template."""
    with (project / text.splitlines()[0].strip("{#} ")).open("a") as file:
        file.write(text)


def check_testing_document(project: Path, environment: dict[str, str], provider: FakeProvider) -> None:
    """Follow docs/testing.md in a project that docs/saas.md has made."""
    offline = {name: value for name, value in environment.items() if not name.startswith("OPENAI_")}
    asked = len(provider.requests)
    for block in blocks(TESTING, "python", "sh"):
        if block.language == "python":
            write(block.text, project)
        elif "record" in block.words:
            provider.call("list_invoices", {})
            provider.reply("One, of 12.50.")
            run(["bash", "-euo", "pipefail", "-c", block.text], project, environment)
            assert len(provider.requests) == asked + 2
            assert environment["OPENAI_API_KEY"] not in (project / "accounts/cassettes/invoices.json").read_text()
        else:
            used = with_pytest(offline) if "pytest" in block.words else offline
            run(["bash", "-euo", "pipefail", "-c", block.text], project, used)
    assert len(provider.requests) == asked + 2


def check_page_for_coding_assistants(project: Path, environment: dict[str, str]) -> None:
    """Follow AGENTS.md in the same project; its tools are found, and its tests are among those that run."""
    offline = {name: value for name, value in environment.items() if not name.startswith("OPENAI_")}
    said = ""
    for block in blocks(AGENTS, "python", "sh"):
        if block.language == "python":
            write(block.text, project)
        else:
            said += run(["bash", "-euo", "pipefail", "-c", block.text], project, offline)
    assert "find_invoices" in said and "set_total" in said


def with_pytest(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the tests' own pytest, which a release does not ask for, and with no plugin but Django's."""
    programs = Path(environment["PATH"].partition(":")[0])
    (site,) = programs.parent.glob("lib/python*/site-packages")
    return environment | {
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "PYTHONPATH": str(site),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "true",
        "PYTEST_PLUGINS": "pytest_django.plugin",
    }


@pytest.mark.once
@pytest.mark.timeout(900)
def test_a_blank_project_becomes_one_with_an_assistant(tmp_path: Path) -> None:
    project, port = tmp_path / "product", free_port()
    project.mkdir()
    with released(tmp_path) as (environment, provider):
        run(["django-admin", "startproject", "mysite", "."], project, environment)
        run(["python", "manage.py", "startapp", "accounts"], project, environment)
        (project / "accounts/templates").mkdir()
        (project / "accounts/templates/base.html").write_text(BASE)
        # What a reader has set in a shell counts in the blocks after it.
        said, process = "", None
        try:
            for block in blocks(DOCUMENT, "python", "sh", "html"):
                text = block.text.replace("127.0.0.1:8000", f"127.0.0.1:{port}").replace(
                    "--port 8000", f"--port {port}"
                )
                if block.language in ("python", "html"):
                    write(text, project)
                elif "serve" in block.words:
                    log = tmp_path / "server.log"
                    process = subprocess.Popen(
                        ["bash", "-c", f"exec {text}"], cwd=project, env=environment, stdout=log.open("wb"),
                        stderr=subprocess.STDOUT,
                    )  # fmt: skip
                    server = Server("uvicorn", port, process, log)
                    server.wait_ready("/assistant/readyz")
                    provider.call("list_invoices", {})
                    provider.reply("One, of 12.50.")
                elif text != PIP_INSTALL:
                    said = run(["bash", "-euo", "pipefail", "-c", text], project, environment)
            assert '"One, of 12.50."' in said
            # The conversation's title may have been asked for since.
            (result,) = (one.messages[-1] for one in provider.requests if one.messages[-1]["role"] == "tool")
            assert result["content"] == '{"company":"Initech","invoices":{"1":"12.50"}}'
            page = httpx2.get(f"{server.url}/assistant/", follow_redirects=True, timeout=30).text
            files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
            assert files and all(httpx2.get(server.url + name, timeout=30).status_code == 200 for name in files)
        finally:
            if process is not None:
                os.kill(process.pid, signal.SIGTERM)
                process.wait(30)
        within = run(["python", "manage.py", "shell", "-v0", "-c", IN_BASE], project, environment)
        assert "<p>Ours" in within and 'class="tenant-assistant in-host"' in within
        check_testing_document(project, environment, provider)
        check_page_for_coding_assistants(project, environment)
