"""What `django.setup()` imports in a host project: no more than what is registered, and no package before its use."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.docs.snippets import ROOT

pytestmark = pytest.mark.once

# Packages that only work needs: models' clients, the MCP SDK, Redis, metrics, spans, Markdown, events, documents.
LATE = (
    "ag_ui", "aiohttp", "anthropic", "anyio", "channels", "google.genai", "httpx2", "mammoth", "markdown_it", "mcp",
    "mcp_types", "nh3", "openai", "opentelemetry", "prometheus_client", "pygments", "pypdf", "python_calamine", "redis",
    "rest_framework", "xllamacpp",
)  # fmt: skip
EVERYTHING = sorted(f"assistant.contrib.{path.parent.name}" for path in (ROOT / "assistant/contrib").glob("*/apps.py"))
PANEL_AND_MCP = ["assistant.contrib.panel", "assistant.contrib.mcp_server", "assistant.contrib.mcp_servers"]
# A host without us imports 571 modules (Django 5.2, Python 3.11).
HOST = """
import json, sys
from django.conf import settings
from django.contrib.admin.apps import AdminConfig

class Panel(AdminConfig):
    default = False
    default_site = "assistant.contrib.panel.site.PanelSite"

ours = json.loads(sys.argv[1])
sys.modules["host"] = sys.modules["__main__"]
admin = "host.Panel" if "assistant.contrib.panel" in ours else "django.contrib.admin"
names = ("auth", "contenttypes", "sessions", "messages", "staticfiles")
settings.configure(
    SECRET_KEY="of a host project in a test, and so no secret at all, but sixty characters long",
    INSTALLED_APPS=[admin, *(f"django.contrib.{name}" for name in names), *ours],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
import django
django.setup()
print(json.dumps(sorted(sys.modules)))
"""


def modules_of_a_host(*ours: str, script: str = HOST) -> set[str]:
    """Return the modules of a process that has set up a project with these of our apps."""
    environment = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(ours)], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {*json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("apps", "most"),
    [
        pytest.param((), 360, id="core"),
        pytest.param(PANEL_AND_MCP, 380, id="panel and MCP"),
        pytest.param(EVERYTHING, 688, id="everything"),
    ],
)
def test_a_host_pays_for_what_it_uses(apps: list[str], most: int) -> None:
    """`most` is a little above the number of modules beside those of the same host without us."""
    modules = modules_of_a_host("assistant", *apps)
    assert [name for name in LATE if name in modules] == []
    assert len(modules - modules_of_a_host()) <= most


def test_the_panel_has_its_pages_once_its_addresses_are_asked_for() -> None:
    asked = HOST.replace("print(", "from django.contrib import admin; admin.site.get_urls()\nprint(")
    pages = "assistant.contrib.panel.admin.tenants.tenants"
    assert pages not in modules_of_a_host("assistant", *EVERYTHING)
    assert pages in modules_of_a_host("assistant", *EVERYTHING, script=asked)
