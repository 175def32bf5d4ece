"""The core imports what the package requires, and no more: what only some need are extras, named where they lack."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.snippets import ROOT

pytestmark = pytest.mark.once

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Distributions whose modules have other names.
MODULES = {
    "ag-ui-protocol": "ag_ui", "django": "django", "django-environ": "environ", "djangorestframework": "rest_framework",
    "markdown-it-py": "markdown_it",
}  # fmt: skip
# Rooms that are there for an extra, or loaded by its settings, and what a module of them needs.
OF_EXTRAS = (
    "contrib/", "client/spans/", "testing/", "mcp_client/", "providers/anthropic/", "providers/google/",
    "providers/embedded/", "pages/accounts/", "services/outage_errors", "asgi/request_heads",
    "management/commands/assistant_worker", "services/jobs/", "allauth_settings", "services/tenancy/second_factor",
    "markdown/highlight",
)  # fmt: skip
EXTRAS = (
    "redis", "mcp", "mcp_types", "pypdf", "mammoth", "python_calamine", "markdownify", "uvicorn", "websockets",
    "cronsim", "prometheus_client", "drf_spectacular", "drf_spectacular_sidecar", "aiohttp", "pygments",
    "opentelemetry", "django_stubs_ext", "tzdata", "jsonschema", "yaml", "rapidocr", "PIL",
)  # fmt: skip
# A site of the core where no extra can be imported: its addresses and its server's application load, and a turn runs.
WITHOUT = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
import django
django.setup()
import assistant.routing, assistant.urls, assistant.websocket.consumer
from assistant.services.runs import manager
from assistant.services.metrics import counting
counting().count_file('text')
from assistant.toolkit.carried_context import attach_parent, trace_headers
assert attach_parent([(b"traceparent", b"00-1-2-01")]) is None and trace_headers() == {{}}
import asyncio
from assistant.client import ChatClient
from assistant.testing.scripted import ScriptedModel
from assistant.core.values.messages import ToolCall
from assistant.toolkit import tool

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

model = ScriptedModel([ToolCall("c1", "add", '{{"a": 2, "b": 3}}'), "It is 5."])
reply = asyncio.run(ChatClient(model=model, tools=[add]).call("2 + 3?"))
assert (reply.tool_calls[0].result, reply.text) == ("5", "It is 5.")
from django.core.checks import run_checks
print([problem.msg for problem in run_checks() if problem.id == "assistant.E012"])
"""

# The app of metrics where its package cannot be imported.
LACKING = """
import sys
sys.modules["prometheus_client"] = None
import django
django.setup()
import assistant.contrib.metrics as metrics
from assistant import optional_apps
from assistant.contrib.metrics.apps import MetricsConfig
app = MetricsConfig("assistant.contrib.metrics", metrics)
app.ready()
from assistant.services.metrics import counting
counting().count_file("text")
optional_apps.installed = lambda: [app]
print(list(optional_apps.missing_packages()))
"""

# What is left of OpenTelemetry where only another distribution of its namespace is installed, such as its protocol.
LEFT = """
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
left = module_from_spec(ModuleSpec("opentelemetry", None, is_package=True))
sys.modules["opentelemetry"] = left
import django
django.setup()
from assistant.toolkit.carried_context import attach_parent, trace_headers
assert attach_parent([(b"traceparent", b"00-1-2-01")]) is None and trace_headers() == {}
import assistant.contrib.telemetry as telemetry
from assistant import optional_apps
from assistant.contrib.telemetry.apps import TelemetryConfig
optional_apps.installed = lambda: [TelemetryConfig("assistant.contrib.telemetry", telemetry)]
print(list(optional_apps.missing_packages()))
"""


# A site with the documentation and no package that describes the REST API.
UNDESCRIBED = """
import sys
sys.modules.update(dict.fromkeys(("drf_spectacular", "drf_spectacular_sidecar")))
import os
os.environ["ASSISTANT_DOCS_PUBLIC"] = "true"
import django
django.setup()
from django.core.checks import run_checks
from django.test import Client
page = Client().get("/docs/index/")
print(page.status_code, "AsyncAPI" in page.content.decode(), "OpenAPI)" in page.content.decode())
addresses = ("/api/schema/", "/api/docs/", "/api/v1/tenants/acme/conversations/")
print([Client().get(address).status_code for address in addresses])
print([problem.msg for problem in run_checks() if problem.id == "assistant.E012"])
"""

# A system without time zones, neither of its own nor of a package.
TIMELESS = """
import sys
sys.modules["tzdata"] = None
import django
django.setup()
from assistant import optional_apps
print(list(optional_apps.missing_packages()))
"""


def required() -> set[str]:
    names = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    return {MODULES.get(name, name.replace("-", "_")).lower() for name in names}


def imported_at_once(tree: ast.AST) -> Iterator[str]:
    """Yield the packages that a module imports when it is loaded: outside of functions and of blocks for types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
        else:
            yield from imported_at_once(node)


def core_imports() -> dict[str, str]:
    """Return the packages that the core imports: a module of each by its name."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "assistant").rglob("*.py")):
        room = path.relative_to(ROOT / "assistant").as_posix()
        if not room.startswith(OF_EXTRAS):
            found |= dict.fromkeys(imported_at_once(ast.parse(path.read_text())), room)
    return {name: room for name, room in found.items() if name not in sys.stdlib_module_names and name != "assistant"}


def test_the_core_imports_what_the_package_requires() -> None:
    # They belong to Django, httpx2 and pydantic.
    parts = {"asgiref", "httpcore2", "pydantic_core"}
    others = {name: room for name, room in core_imports().items() if name.lower() not in {*required(), *parts}}
    assert others == {}


def test_the_package_requires_nothing_that_the_core_does_not_import() -> None:
    # Stemmers are loaded with the first search.
    assert required() - {name.lower() for name in core_imports()} <= {"snowballstemmer"}


def closure(*extras: str) -> dict[str, Distribution]:
    """Return what installing the package brings beside it, by name, as it is installed here."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(line) for line in PROJECT["dependencies"]]
    waiting += [Requirement(line) for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        chosen = ("", *wanted.extras)
        if name not in found or wanted.extras:
            found[name] = distribution(wanted.name)
            needed = [Requirement(line) for line in found[name].requires or ()]
            waiting += [
                one
                for one in needed
                if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in chosen)
            ]
    return found


def test_the_core_alone_is_small() -> None:
    # A wheel of hatchling has no compiled files; pip adds a third to what is written in Python.
    others = closure()
    files = [file.locate() for one in others.values() for file in one.files or () if file.suffix != ".pyc"]
    own = [path for path in (ROOT / "assistant").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    size = sum(Path(str(path)).stat().st_size for path in [*files, *own] if Path(str(path)).is_file())
    assert len(others) + 1 <= 33
    assert size <= 95_000_000


def run(script: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    chosen = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_APPS": "core"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=kept | chosen | environment, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_works_without_any_extra() -> None:
    assert run(WITHOUT).splitlines()[-1] == "[]"


def test_what_an_installed_app_lacks_is_named() -> None:
    told = run(LACKING, ASSISTANT_METRICS_TOKEN="x" * 32)
    lacks = "assistant.contrib.metrics needs a package that is not installed: pip install 'tenant-assistant[metrics]'"
    assert lacks in told
    assert run(LACKING).splitlines()[-1] == "[]"


def test_apps_name_extras_that_there_are() -> None:
    named = {
        extra
        for path in sorted((ROOT / "assistant/contrib").glob("*/apps.py"))
        for line in re.findall(r"^    packages = \{(.*)\}$", path.read_text(), re.MULTILINE)
        for extra in re.findall(r': "([\w-]+)"', line)
    }
    assert {"mcp", "timed"} <= named <= {*PROJECT["optional-dependencies"]}


def test_all_names_every_extra_but_databases_and_models() -> None:
    (line,) = PROJECT["optional-dependencies"]["all"]
    others = {"all", "demo", "postgres", "local-model", "embeddings", "local-embeddings", "ocr", "anthropic", "google"}
    assert Requirement(line).extras == {*PROJECT["optional-dependencies"]} - others


def test_extras_hold_what_no_core_needs() -> None:
    lines = [
        line
        for name, lines in PROJECT["optional-dependencies"].items()
        if name not in ("all", "demo")
        for line in lines
    ]
    assert not {canonicalize_name(Requirement(line).name) for line in lines} & {
        canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]
    }


def test_without_a_schema_of_the_rest_api_there_is_no_address_and_no_link_of_it() -> None:
    page, addresses, lacks = run(UNDESCRIBED, TEST_APPS="all").splitlines()[-3:]
    assert (page, addresses, lacks) == ("200 True False", "[404, 404, 401]", "[]")


def test_a_system_without_time_zones_is_named() -> None:
    sentence = "This system has no time zones: pip install 'tenant-assistant[time-zones]'"
    assert sentence in run(TIMELESS, PYTHONTZPATH="")
    assert run(TIMELESS).splitlines()[-1] == "[]"


def test_a_namespace_that_another_package_has_left_is_no_opentelemetry() -> None:
    assert "tenant-assistant[telemetry]" in run(LEFT).splitlines()[-1]
