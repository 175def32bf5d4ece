"""Who may import whom: the rooms of docs/architecture.md, read from every file's imports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("tools", "assistant", "config")
EVERY_ROOM = "*"


@dataclass(frozen=True)
class Room:
    """Some of the modules, what of our own they may import, and which outside packages (all, with `EVERY_ROOM`)."""

    modules: tuple[str, ...]
    own: tuple[str, ...]
    outside: tuple[str, ...] = (EVERY_ROOM,)


EDGES = ("assistant.services", "assistant.models", "assistant.core.events", "tools")
# A module is in the first room that names it or a package around it.
ROOMS = {
    "tools that ship": Room(
        ("tools.library", "tools.models", "tools.migrations", "tools.apps", "tools.demo"), ("tools",)
    ),
    "guarded http": Room(("tools.guardedhttp",), ("tools",), ("httpx2", "httpcore2")),
    "tools": Room(
        ("tools",), ("tools",), ("asgiref", "docstring_parser", "jsonschema_rs", "pydantic", "pydantic_core")
    ),
    "core": Room(("assistant.core",), ("assistant.core", "tools"), ("pydantic", "pydantic_core", "msgspec")),
    "providers": Room(
        ("assistant.providers",),
        ("assistant.providers", "assistant.core", "tools"),
        ("openai", "httpx2", "msgspec", "pydantic", "xllamacpp", "aiohttp"),
    ),
    "mcp client": Room(
        ("assistant.mcp.client",), ("assistant.mcp.client", "assistant.core", "tools"), ("mcp", "mcp_types", "httpx2")
    ),
    "spans": Room(("assistant.spans",), ("assistant.core", "tools"), ("opentelemetry",)),
    "client": Room(("assistant.client",), ("assistant.core", "assistant.providers", "tools"), ("pydantic", "msgspec")),
    "models": Room(("assistant.models", "assistant.migrations"), ("assistant.models", "tools")),
    "services": Room(
        ("assistant.services",),
        (
            "assistant.services",
            "assistant.models",
            "assistant.core",
            "assistant.providers",
            "assistant.mcp.client",
            "assistant.spans",
            "tools",
        ),
    ),
    "rendering": Room(("assistant.rendering",), EDGES),
    "websocket": Room(
        (
            "assistant.consumers",
            "assistant.consuming",
            "assistant.following",
            "assistant.stepping",
            "assistant.threads",
            "assistant.handshake",
            "assistant.lifespan",
            "assistant.access",
        ),
        (
            "assistant.consuming",
            "assistant.following",
            "assistant.stepping",
            "assistant.threads",
            "assistant.handshake",
            "assistant.rendering",
            "assistant.core.silence",
            *EDGES,
        ),
    ),
    "mcp server": Room(("assistant.mcp.server",), ("assistant.mcp.server", *EDGES)),
    "api": Room(("assistant.api",), ("assistant.api", *EDGES)),
    "admin": Room(("assistant.admin",), ("assistant.admin", *EDGES)),
    "commands": Room(
        ("assistant.management",), ("assistant.management", "assistant.hosting", "assistant.providers", *EDGES)
    ),
    "pages": Room(
        (
            "assistant.pages",
            "assistant.connections",
            "assistant.manual",
            "assistant.health",
            "assistant.outages",
            "assistant.templatetags",
        ),
        ("assistant.pages", "assistant.rendering", *EDGES),
    ),
    "hosting": Room(("assistant.hosting",), EDGES),
    "static files": Room(("assistant.staticfiles",), (), ("django",)),
    # Settings are read before Django is there.
    "settings": Room(
        ("assistant.defaults", "assistant.environment"),
        ("assistant.environment", "assistant.core.pricing", "assistant.core.quotas", "tools.inside"),
        ("environ", "cryptography"),
    ),
    # They only put the doors in their places.
    "glue": Room(
        ("assistant.routing", "assistant.urls", "assistant.apps", "assistant.checks", "assistant", "assistant.mcp"),
        PACKAGES,
    ),
    "config": Room(
        ("config",),
        (
            "config",
            "assistant.defaults",
            "assistant.environment",
            "assistant.routing",
            "assistant.staticfiles",
            "assistant.urls",
        ),
    ),
}
OPENAI_ONLY_IN = "assistant.providers."


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of ours, with its dotted name."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), ast.parse(path.read_text())


def imports(tree: ast.Module) -> Iterator[str]:
    """The dotted names a module imports, anywhere in it; of `from a import b`, both `a` and `a.b` may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(module: str) -> str | None:
    """The room a module stands in; a module right under `assistant` must be named by one."""
    for name, room in ROOMS.items():
        if name == "glue" and module not in room.modules:
            continue
        if within(module, room.modules):
            return name
    return None


def breaches(module: str, tree: ast.Module) -> list[str]:
    """The imports that a module's room forbids."""
    name = room_of(module)
    if name is None:
        return [f"{module} stands in no room: name it in tests/test_architecture.py"]
    room = ROOMS[name]
    found = []
    for imported in imports(tree):
        package = imported.partition(".")[0]
        if package in PACKAGES:
            is_allowed = within(imported, room.own)
        else:
            is_allowed = (
                package in sys.stdlib_module_names or EVERY_ROOM in room.outside or package in room.outside
            ) and (package != "openai" or module.startswith(OPENAI_ONLY_IN))
        if not is_allowed:
            found.append(f"{module} ({name}) imports {imported}")
    return found


def test_every_import_points_down() -> None:
    assert [breach for module, tree in modules() for breach in breaches(module, tree)] == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("tools.schema", "import django"),
        ("tools.library.clock", "from assistant.models import Tenant"),
        ("assistant.core.loop", "from assistant.models import Run"),
        ("assistant.core.loop", "def f():\n    from django.db import connection"),
        ("assistant.providers.openai", "from assistant.services import runs"),
        ("assistant.models.runs", "from assistant.services.runs import get_runs"),
        ("assistant.services.runs", "from assistant.consumers import ChatConsumer"),
        ("assistant.services.runs", "import openai"),
        ("assistant.consumers", "from assistant.core.loop import run_turn"),
        ("assistant.admin.runs", "from assistant.api import views"),
        ("assistant.api.runs", "from config import settings"),
        ("assistant.somewhere", "import json"),
    ],
)
def test_a_planted_breach_is_found(module: str, line: str) -> None:
    assert breaches(module, ast.parse(line))
