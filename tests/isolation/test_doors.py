"""Every door is tried: addresses, frames, methods, tools and commands are read from the code; a new one fails here.

For each kind another test adds one, which must be noticed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.test import override_settings
from mcp.server.lowlevel import Server
from mcp_types import EmptyResult, NotificationParams, RequestParams

from assistant import routing, urls
from assistant.asgi.mounts import mounted
from assistant.contrib.mcp_server.protocol import build_server
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, Tool, ToolContext
from assistant.websocket.consumer import ChatConsumer
from tests.base import Cast
from tests.isolation.doors import paths
from tests.isolation.planting import plant
from tests.isolation.test_mcp import STREAMS, requests_against
from tests.isolation.test_websocket import frames_against
from tests.isolation.tries import DOORS, calls_against, door_of
from tests.ws import run_input

pytestmark = pytest.mark.django_db

# Applications beside the site. They are tried as websockets and as refused websockets.
MOUNTS = {"chat", "upgrade_required"}
# The optional apps with an application of their own: one is tried as MCP, the other in
# tests/contrib/openai_api/responses/test_responses_socket.py.
MOUNTED_APPS = {"assistant_mcp_server", "assistant_openai_api"}
# A rival's, of the same request id, is sent in tests/contrib/mcp_server/test_calls.py.
NOTICES = {"notifications/cancelled"}
# They have no rows of members.
HARMLESS_TOOLS = {"ask_user", "calculate", "convert_time", "get_weather", "provider_web_search"}
# Commands are for operators. These export the rows of one tenant or user, and test_tries.py checks their output.
EXPORTS = {"assistant_export_tenant", "assistant_export_user"}
OPERATORS = {
    "assistant_add_documents", "assistant_allow_origin", "assistant_allow_sign_in", "assistant_audit_feed",
    "assistant_apply_retention", "assistant_bundle", "assistant_chat", "assistant_check",
    "assistant_create_api_key", "assistant_create_tenant", "assistant_delete_tenant", "assistant_delete_user",
    "assistant_deliver_webhooks", "assistant_demo", "assistant_deploy_files", "assistant_evaluate",
    "assistant_evaluate_knowledge", "assistant_hostile_checks", "assistant_init", "assistant_local_model",
    "assistant_prove", "assistant_reach", "assistant_refresh_sources", "assistant_reset_second_factor",
    "assistant_rotate_encryption", "assistant_row_level_security", "assistant_seed", "assistant_sum_days",
    "assistant_sync_tenants", "assistant_tools", "assistant_uninstall", "assistant_worker",
}  # fmt: skip
OF_THE_TESTS = {"flush"}
EXPORTING = """
from django.core.management import BaseCommand
from assistant.models import Conversation

class Command(BaseCommand):
    def handle(self, **options):
        self.stdout.write(str(list(Conversation.objects.values())))
"""


@pytest.fixture
def rows(cast: Cast) -> Any:
    return plant(cast)


def unlisted_addresses(rows: Any) -> list[str]:
    return [path for path in paths(rows) if door_of(path) is None]


def mounts(source: str) -> set[str]:
    """Return the applications that answer instead of the site, by their names in `routing.py`."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "_at_websocket"}


def unlisted_frames(consumer: type[ChatConsumer]) -> set[str]:
    """Return the frame types that the consumer handles, except those that are tried."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(consumer._dispatch)))
    compared = [node.comparators for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    cases = [[node.value] for node in ast.walk(tree) if isinstance(node, ast.MatchValue)]
    constants = [inner for group in (*compared, *cases) for node in group for inner in ast.walk(node)]
    kinds = {node.value for node in constants if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return kinds - set(frames_against(run_input("x")))


def unlisted_methods(server: Server[Any], rows: Any) -> set[str]:
    known = set(requests_against(rows)) | STREAMS | NOTICES
    return {*server._request_handlers, *server._notification_handlers} - known


def unlisted_tools(rows: Any) -> set[str]:
    return {tool.name for tool in catalogue.registry()} - {name for name, _ in calls_against(rows)} - HARMLESS_TOOLS


def unlisted_commands() -> set[str]:
    """Return the commands that belong neither to Django nor to another package, but for short names of others."""
    installed = Path(sysconfig.get_path("purelib"))
    own = {name: str(app) for name, app in get_commands().items() if not _home(str(app)).is_relative_to(installed)}
    ours = {name for name, app in own.items() if app != "config"}
    return ours - EXPORTS - OPERATORS - OF_THE_TESTS


def _home(app: str) -> Path:
    return Path(str(importlib.import_module(app).__file__))


def test_every_address_belongs_to_a_door(rows: Any) -> None:
    assert unlisted_addresses(rows) == []
    assert {door_of(path) for path in paths(rows)} == set(DOORS)
    sockets = [str(entry.pattern) for entry in urls.api_urlpatterns if str(entry.pattern).startswith("ws")]
    assert sockets == ["ws/<slug:tenant>/<slug:assistant>/"]


def test_every_application_beside_the_site_is_known() -> None:
    assert mounts(inspect.getsource(routing)) == MOUNTS
    assert {*mounted()} == MOUNTED_APPS


def test_another_application_beside_the_site_is_noticed() -> None:
    another = "api = _at_websocket(dump_everything, api)"
    assert mounts(f"{inspect.getsource(routing)}\n{another}") - MOUNTS == {"dump_everything"}


def test_an_unlisted_address_is_noticed(rows: Any) -> None:
    with override_settings(ROOT_URLCONF="tests.isolation.sites.leaky_urls"):
        assert {path.split("/")[1] for path in unlisted_addresses(rows)} == {"leak"}


def test_every_frame_type_is_tried() -> None:
    assert unlisted_frames(ChatConsumer) == set()


def test_an_unlisted_frame_type_is_noticed() -> None:
    class Talkative(ChatConsumer):
        async def _dispatch(self, frame: Any) -> None:
            if frame.get("type") in ("attach", "export"):
                await self.send(text_data="all of it")
            await super()._dispatch(frame)

    assert unlisted_frames(Talkative) == {"export"}


def test_every_method_of_mcp_is_tried(rows: Any) -> None:
    for with_sessions in (True, False):
        assert unlisted_methods(build_server(with_sessions=with_sessions), rows) == set()


def test_an_unlisted_method_of_mcp_is_noticed(rows: Any) -> None:
    async def show(*_: Any) -> EmptyResult:
        return EmptyResult()

    server = build_server(with_sessions=True)
    server.add_request_handler("conversations/list", RequestParams, show)
    server.add_notification_handler("notifications/forget", NotificationParams, show)
    assert unlisted_methods(server, rows) == {"conversations/list", "notifications/forget"}


def test_every_tool_is_tried(rows: Any) -> None:
    assert unlisted_tools(rows) == set()


def test_an_unlisted_tool_is_noticed(rows: Any) -> None:
    def read_mail(context: ToolContext) -> str:
        """Read the mail of the caller."""
        return context.user.username

    with catalogue.using(Registry([*catalogue.registry(), Tool.from_function(read_mail)])):
        assert unlisted_tools(rows) == {"read_mail"}


def test_every_command_is_known() -> None:
    assert unlisted_commands() == set()


@pytest.fixture
def exporting_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An app with a command that exports all conversations."""
    commands = tmp_path / "exporting_app" / "management" / "commands"
    commands.mkdir(parents=True)
    for folder in (commands, *commands.parents[:2]):
        (folder / "__init__.py").touch()
    (commands / "export_everything.py").write_text(EXPORTING)
    monkeypatch.syspath_prepend(tmp_path)
    yield "exporting_app"
    get_commands.cache_clear()


def test_an_unlisted_command_is_noticed(exporting_app: str, settings: Any) -> None:
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, exporting_app]
    get_commands.cache_clear()
    assert unlisted_commands() == {"export_everything"}
