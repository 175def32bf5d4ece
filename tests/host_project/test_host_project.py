"""The apps in somebody else's project: installed as a package, with its users, tenants, pages and settings."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import global_settings, settings
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from assistant.optional_apps import setting_names
from tests.agui import text_of
from tests.fake_answers import Answer, Recorded, echo, reply
from tests.fake_provider import FakeProvider
from tests.host_project.installed import installed, run
from tests.live import Server, serve
from tests.mcp.talking import headers, message
from tests.python_template import forked_python
from tests.ws import open_socket

ROOT = Path(settings.BASE_DIR)
PASSWORD = "correct-horse-battery-staple"
# The page of the project that waits for as many requests.
TOGETHER = 64
# Installed by its first test, and each command is a process: on a busy machine that takes its time.
pytestmark = pytest.mark.timeout(900)
PEOPLE = f"""
from django.core.management import call_command
call_command("migrate", verbosity=0)
from accounts.models import Account, Invoice, Seat
from people.models import Person
Person.objects.create_superuser("root@crm.example", "{PASSWORD}")
for number, (name, people) in enumerate({{"Acme": ["amy", "alice"], "Globex": ["mallory"]}}.items(), 1):
    account = Account.objects.create(subdomain=name.lower(), company=name)
    Invoice.objects.create(account=account, number=number, total="10.50")
    for place, who in enumerate(people):
        person = Person.objects.create_user(f"{{who}}@crm.example", "{PASSWORD}", is_staff=place == 0)
        Seat.objects.create(account=account, person=person, is_manager=place == 0)
"""


@dataclass(frozen=True)
class Project:
    """The running project; its commands run in processes of their own too."""

    folder: Path
    environment: dict[str, str]
    server: Server
    provider: FakeProvider

    def manage(self, *words: str) -> str:
        return run([str(forked_python()), "manage.py", *words], self.folder, self.environment)

    def shell(self, code: str) -> str:
        return self.manage("shell", "-v0", "-c", code)

    def visitor(self, who: str) -> httpx2.Client:
        """A browser in which somebody has signed in on the project's own page."""
        client = httpx2.Client(base_url=self.server.url, timeout=30)
        client.get("/sign-in/")
        form = {"username": f"{who}@crm.example", "password": PASSWORD}
        answer = client.post("/sign-in/", data=form | {"csrfmiddlewaretoken": client.cookies["csrftoken"]})
        assert answer.headers["Location"] == "/"
        return client


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Installed from the checkout as `pip install` does it, migrated from nothing, and served."""
    scratch = tmp_path_factory.mktemp("host")
    folder = scratch / "crm"
    shutil.copytree(Path(__file__).parent / "crm", folder)
    with installed(scratch / "site") as (environment, provider):
        environment |= {"HOST_DATABASE": str(scratch / "db.sqlite3"), "DJANGO_SETTINGS_MODULE": "site_settings"}
        run([str(forked_python()), "manage.py", "shell", "-v0", "-c", PEOPLE], folder, environment)
        application = {"application": "site_asgi:application", "folder": folder, "health": "/assistant/healthz"}
        with serve(env=environment, **application) as server:  # type: ignore[arg-type]
            yield Project(folder, environment, server, provider)


def test_the_installed_package_is_what_runs_and_asks_for_no_migration(project: Project) -> None:
    told = project.shell(
        "import assistant; print(assistant.__file__)\n"
        "from django.core.management import call_command\n"
        "call_command('check', fail_level='WARNING')\n"
        "call_command('makemigrations', check_changes=True, dry_run=True)\n"
        "call_command('assistant_sync_tenants')\n"
    )
    assert str(project.folder.parent / "site") in told
    assert "2 tenants synced; 0 " in told


def test_a_project_has_none_of_the_library_unless_it_asks_and_keeps_its_own_package_tools(project: Project) -> None:
    told = project.shell(
        "import tools; from assistant.services.toolpolicy.catalogue import registry\n"
        "print(tools.HAMMERS, [tool.name for tool in registry()])"
    )
    assert told.strip() == "3 ['list_invoices']"


async def ask(project: Project, who: str, tenant: str) -> list[dict[str, Any]]:
    """What a member sees in answer to a question about invoices, for which the model calls the project's own tool."""
    session = project.visitor(who).cookies["sessionid"]
    cookie = {"Cookie": f"sessionid={session}"}
    url = project.server.url
    mount = f"{url}/assistant"
    async with open_socket(mount, tenant=tenant, assistant="helper", headers=cookie, origin=url) as socket:
        # Not for who is refused.
        project.provider.call("list_invoices", {})
        project.provider.reply("Here they are")
        return await socket.ask("Which invoices are open?")


@pytest.mark.parametrize(
    ("who", "tenant", "company", "invoices"),
    [("alice", "acme", "Acme", {"1": "10.50"}), ("mallory", "globex", "Globex", {"2": "10.50"})],
)
async def test_a_tool_of_the_project_reads_the_askers_own_rows(
    who: str, tenant: str, company: str, invoices: dict[str, str], project: Project
) -> None:
    frames = await ask(project, who, tenant)
    assert text_of(frames) == "Here they are"
    (result,) = (json.loads(frame["content"]) for frame in frames if frame["type"] == "TOOL_CALL_RESULT")
    assert (result["company"], result["invoices"]) == (company, invoices)
    assert result["asker"] == project.shell(
        f"from people.models import Person; print(Person.objects.get(email='{who}@crm.example').pk)"
    ).strip()  # fmt: skip


async def test_another_tenant_is_not_there(project: Project) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await ask(project, "mallory", "acme")
    assert refused.value.response.status_code == 403
    mallory = project.visitor("mallory")
    foreign, absent = (mallory.get(f"/assistant/api/v1/tenants/{slug}/conversations/") for slug in ("acme", "nobody"))
    assert (foreign.status_code, foreign.text) == (404, absent.text)
    assert mallory.get("/assistant/t/acme/").status_code == 404


def test_the_pages_stand_below_the_projects_own_address(project: Project) -> None:
    stranger = httpx2.Client(base_url=project.server.url, timeout=30)
    assert stranger.get("/").text == "The CRM's own front page"
    assert stranger.get("/assistant/t/acme/").headers["Location"] == "/sign-in/?next=/assistant/t/acme/"
    alice = project.visitor("alice")
    assert alice.get("/assistant/").headers["Location"] == "/assistant/t/acme/"
    page = alice.get("/assistant/t/acme/").text
    assert 'data-base="/assistant/t/acme/"' in page and 'data-socket="/assistant/ws/acme/helper/"' in page
    assert "alice@crm.example" in page
    # Documents are for the project's staff.
    assert stranger.get("/assistant/docs/").status_code != 200
    staff = project.visitor("root")
    links = set(re.findall(r'href="(/assistant/docs/[^"#]*)', staff.get("/assistant/docs/").text))
    assert "/assistant/docs/saas/" in links
    assert [link for link in links if staff.get(link).status_code != 200] == []


def test_rest_is_the_same_whatever_the_projects_own_api_is_set_to(project: Project) -> None:
    key = project.manage("assistant_create_api_key", "acme", "alice@crm.example").splitlines()[-1]
    with httpx2.Client(base_url=f"{project.server.url}/assistant/api/", timeout=30) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        thread = client.post("v1/tenants/acme/conversations/", json={"assistant": "helper"}).json()["id"]
        project.provider.reply("Half past nine")
        run = client.post(f"v1/tenants/acme/conversations/{thread}/runs/", json={"message": "When?"})
        assert (run.status_code, run.json()["status"]) == (201, "finished"), run.text
        wrong = client.get("v1/tenants/acme/conversations/", params={"format": "html"})
        assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")
        no_slash = client.post("v1/tenants/acme/conversations", json={"assistant": "helper"})
        assert (no_slash.status_code, no_slash.json()["assistant"]) == (201, "helper")
        paths = client.get("schema/").json()["paths"]
        assert paths and all(path.startswith("/assistant/api/v1/tenants/{tenant}/") for path in paths)
        page = client.get("docs/").text
        files = re.findall(r'(?:href|src)="(/assistant/api/docs/[^"]+)"', page)
        assert len(files) == 3 and all(client.get(project.server.url + name).status_code == 200 for name in files)


ASKS = """
from assistant.models import Tenant, ToolSetting
acme = Tenant.objects.get(slug="acme")
ToolSetting.objects.update_or_create(tenant=acme, tool="list_invoices", defaults={"policy": "%s"})
"""


@contextmanager
def asking(project: Project) -> Iterator[None]:
    """Until the end of the block the model calls the project's tool and then answers, and the tool asks first."""
    project.shell(ASKS % "ask")
    project.provider.rule(invoices)
    try:
        yield
    finally:
        project.shell(ASKS % "on")
        project.provider.rule(echo)


def invoices(request: Recorded) -> Answer:
    """Answer by the request, because a title may be asked for at any time."""
    called = [call["function"]["name"] for one in request.messages for call in one.get("tool_calls") or ()]
    if request.json.get("tools") and "list_invoices" not in called:
        return reply(calls=[("list_invoices", {})])(request)
    return reply("Only one")(request)


def test_every_door_works_though_the_projects_requests_are_transactions(project: Project) -> None:
    key = project.manage(
        "assistant_create_api_key", "acme", "alice@crm.example", "--scopes", "chat,read,tools"
    ).splitlines()[-1]
    with httpx2.Client(base_url=f"{project.server.url}/assistant/", timeout=30) as client, asking(project):
        client.headers["Authorization"] = f"Bearer {key}"
        rest = "api/v1/tenants/acme/"
        file = client.post(f"{rest}attachments/", files={"file": ("note.txt", b"Half past nine", "text/plain")}).json()
        thread = client.post(f"{rest}conversations/", json={"assistant": "helper"}).json()["id"]
        body, once = {"message": "Which?", "attachments": [file["id"]]}, {"Idempotency-Key": "once"}
        run, again = (client.post(f"{rest}conversations/{thread}/runs/", json=body, headers=once) for _ in range(2))
        assert run.json()["status"] == "waiting" and again.headers["Idempotent-Replayed"] == "true"
        decision = {"call_id": run.json()["approvals"][0]["call_id"], "approved": True}
        decided = client.post(f"{rest}runs/{run.json()['id']}/approvals/", json={"decisions": [decision]})
        assert (decided.status_code, decided.json()["text"]) == (201, "Only one")
        lines = client.get(f"{rest}runs/{decided.json()['id']}/events/").text.splitlines()
        events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        assert (text_of(events), events[-1]["type"]) == ("Only one", "RUN_FINISHED")
        assert client.post(f"{rest}runs/{decided.json()['id']}/cancel/").status_code == 202


def test_the_apis_of_other_clients_work_though_the_projects_requests_are_transactions(project: Project) -> None:
    key = project.manage(
        "assistant_create_api_key", "acme", "alice@crm.example", "--scopes", "chat,read,tools"
    ).splitlines()[-1]
    with httpx2.Client(base_url=f"{project.server.url}/assistant/", timeout=30) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        assert [one["id"] for one in client.get("v1/models").json()["data"]] == ["helper"]
        asked = {"model": "helper", "messages": [{"role": "user", "content": "When?"}]}
        for stream in (False, True):
            assert "When?" in client.post("v1/chat/completions", json=asked | {"stream": stream}).text
        response = client.post("v1/responses", json={"model": "helper", "input": "When?"}).json()
        assert client.get(f"v1/responses/{response['id']}").json()["status"] == "completed"
        assert client.delete(f"v1/responses/{response['id']}").status_code == 200
        files = {"file": ("note.txt", b"Half past nine", "text/plain")}
        file = client.post("v1/files", files=files, data={"purpose": "user_data"}).json()["id"]
        assert client.get(f"v1/files/{file}/content").content == b"Half past nine"
    listed = httpx2.post(
        f"{project.server.url}/assistant/mcp/",
        json=message("tools/list"),
        headers=headers(key, "tools/list"),
        timeout=30,
    )
    assert [tool["name"] for tool in listed.json()["result"]["tools"]] == ["list_invoices"]


def test_a_call_is_approved_in_the_projects_admin(project: Project) -> None:
    key = project.manage("assistant_create_api_key", "acme", "alice@crm.example").splitlines()[-1]
    project.shell("from assistant.models import Tenant; Tenant.objects.update(approvals_by_others=True)")
    rest = httpx2.Client(base_url=f"{project.server.url}/assistant/api/v1/tenants/acme/", timeout=30)
    rest.headers["Authorization"] = f"Bearer {key}"
    with rest, asking(project):
        thread = rest.post("conversations/", json={"assistant": "helper"}).json()["id"]
        assert rest.post(f"conversations/{thread}/runs/", json={"message": "Which?"}).json()["status"] == "waiting"
        amy = project.visitor("amy")
        found = re.search(r"/admin/assistant/approval/(\d+)/change/", amy.get("/admin/assistant/approval/").text)
        assert found
        token = {"csrfmiddlewaretoken": amy.cookies["csrftoken"]}
        chosen = {"action": "approve", "_selected_action": found[1]}
        told = amy.post("/admin/assistant/approval/", data=chosen | token, follow_redirects=True).text
        assert "Answered: list_invoices." in told
        assert rest.get("approvals/").json() == []


def test_end_users_fit_into_the_projects_own_user_model(project: Project) -> None:
    project.manage("assistant_allow_origin", "acme", "helper", "https://shop.example")
    key = project.manage("assistant_create_api_key", "acme", "amy@crm.example", "--scopes", "end_users").splitlines()[
        -1
    ]
    minted = httpx2.post(
        f"{project.server.url}/assistant/api/v1/tenants/acme/assistants/helper/end-user-tokens/",
        json={"user_id": "c-1"}, headers={"Authorization": f"Bearer {key}"}, timeout=30,
    )  # fmt: skip
    assert minted.status_code == 201, minted.text
    url = f"{project.server.url.replace('http', 'ws')}{minted.json()['socket']}"
    door = {"subprotocols": ["agui.v1", f"bearer.{minted.json()['token']}"], "origin": "https://shop.example"}
    with connect(url, proxy=None, **door) as socket:  # type: ignore[arg-type]
        socket.send('{"type":"ping"}')
        assert json.loads(socket.recv(15))["name"] == "pong"


def test_the_projects_own_websockets_stay_its_own(project: Project) -> None:
    # The address of Channels' own tutorial, which has two parts, as ours.
    with connect(f"{project.server.url.replace('http', 'ws')}/ws/chat/lobby/", proxy=None) as socket:
        socket.send("hello")
        assert socket.recv(15) == "hello"


async def test_as_many_of_the_projects_own_pages_run_at_once_as_without_the_assistant(project: Project) -> None:
    limits = httpx2.Limits(max_connections=TOGETHER)
    async with httpx2.AsyncClient(base_url=project.server.url, timeout=60, limits=limits) as client:
        answers = await asyncio.gather(*(client.get("/together/") for _ in range(TOGETHER)))
    assert [answer.status_code for answer in answers] == [200] * TOGETHER
    assert {name for answer in answers for name in answer.headers} & {"x-request-id"} == set()
    assert "/together/" not in project.server.log


def test_every_page_of_the_admin_opens_and_the_projects_own_stay(project: Project) -> None:
    root = project.visitor("root")
    front = root.get("/admin/").text
    assert "Django administration" in front and "Tenant Assistant" not in front
    pages = sorted(set(re.findall(r'href="(/admin/(?:assistant|people|auth)/\w+/(?:add/)?)"', front)))
    assert len(pages) > 15 and "/admin/people/person/" in pages
    opened = [page if page.endswith("/add/") else f"{page}?q=a" for page in pages]
    assert not re.search("/admin/(?:tools|assistant)/(?:customer|order|document|alarm)/", front)
    assert [page for page in opened if root.get(page).status_code != 200] == []
    assert "assistant/panel/panel.css" in root.get("/admin/assistant/tenant/").text


def test_a_manager_sees_their_own_tenant_alone_and_cannot_change_who_belongs_to_it(project: Project) -> None:
    amy = project.visitor("amy")
    assert re.findall(r"/admin/assistant/tenant/(\d+)/", amy.get("/admin/assistant/tenant/").text) != []
    members = amy.get("/admin/assistant/membership/").text
    assert "alice@crm.example" in members and "mallory" not in members
    form = amy.get("/admin/assistant/membership/add/")
    tenant = re.search(r'<option value="(\d+)"', form.text)
    assert tenant
    filled = {"tenant": tenant[1], "username": "eve@crm.example", "password": PASSWORD, "role": "member"}
    token = {"csrfmiddlewaretoken": amy.cookies["csrftoken"]}
    assert "are those of the project" in amy.post("/admin/assistant/membership/add/", data=filled | token).text


def test_who_leaves_is_found_by_the_field_that_the_project_signs_in_with(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "alice.zip"
    told = project.manage("assistant_export_user", "alice@crm.example", "--file", str(file), "--by", "root@crm.example")
    assert "1  people.Person" in told and zipfile.is_zipfile(file)
    counted = project.manage("assistant_delete_user", "alice@crm.example", "--dry-run", "--by", "root@crm.example")
    assert "1  assistant.Membership" in counted and "people.Person" not in counted


def test_large_bodies_are_refused_at_our_own_addresses_alone(project: Project) -> None:
    large = b"x" * 30_000_000
    ours = httpx2.post(f"{project.server.url}/assistant/api/v1/tenants/acme/usage/", content=large, timeout=30)
    assert (ours.status_code, ours.json()["code"]) == (413, "too_large")
    theirs = httpx2.post(f"{project.server.url}/api/imports/", content=large, timeout=30)
    assert theirs.text == "30000000 bytes"


FOLLOWED = """
from accounts.models import Account, Seat
from assistant.models import Membership, Tenant
from people.models import Person

def state():
    tenant = Tenant.objects.filter(slug__startswith="hooli").first()
    return tenant and (tenant.slug, tenant.name, tenant.is_active, sorted(
        (place.user.email, place.role) for place in tenant.memberships.all()))

eve = Person.objects.create_user("eve@crm.example", "x")
account = Account.objects.create(subdomain="hooli", company="Hooli")
assert state() == ("hooli", "Hooli", True, []), state()
assert Tenant.objects.get(slug="hooli").assistants.count() == 1
seat = Seat.objects.create(account=account, person=eve)
assert state()[3] == [("eve@crm.example", "member")], state()
seat.is_manager = True
seat.save()
assert state()[3] == [("eve@crm.example", "admin")], state()
assert not Person.objects.get(pk=eve.pk).is_staff
account.subdomain, account.company, account.is_paying = "hooli2", "Hooli II", False
account.save()
assert state()[:3] == ("hooli2", "Hooli II", False), state()
assert Tenant.objects.get(slug="hooli2").assistants.count() == 1
seat.delete()
assert state()[3] == [], state()
Seat.objects.bulk_create([Seat(account=account, person=eve)])
assert state()[3] == [], state()
from django.core.management import call_command
call_command("assistant_sync_tenants")
assert state()[3] == [("eve@crm.example", "member")], state()
account.delete()
assert state() is None, state()
assert Person.objects.filter(pk=eve.pk).exists() and not Membership.objects.filter(user=eve).exists()
eve.delete()
"""


def test_the_projects_pages_have_their_files_without_debug_and_probes_are_where_it_mounts_the_app(
    project: Project,
) -> None:
    page = project.visitor("alice").get("/assistant/t/acme/").text
    files = re.findall(r'(?:href|src)="(/static/assistant/[^"]+)"', page)
    assert len(files) > 3 and all(
        httpx2.get(project.server.url + name, timeout=30).status_code == 200 for name in files
    )
    probe = httpx2.get(f"{project.server.url}/assistant/readyz", headers={"Host": "127.0.0.9:8001"}, timeout=30)
    assert (probe.status_code, probe.json()["status"]) == (200, "ready")
    assert httpx2.get(f"{project.server.url}/", headers={"Host": "127.0.0.9"}, timeout=30).status_code == 400


def test_the_project_is_told_what_it_lacks_and_gets_files_of_its_own_names(project: Project) -> None:
    told = project.manage(
        "shell", "-v0", "-c",
        "from django.core.management import CommandError, call_command\n"
        "try:\n    call_command('assistant_check', url='" + project.server.url + "')\n"
        "except CommandError as exc: print(exc)",
    )  # fmt: skip
    for line in ("ok    ASGI: site_asgi:application", "ok    health: /assistant/healthz answers 200", "FIX   cookies"):
        assert line in told
    assert (
        "ok    websockets: /assistant/ws/ answers 403" in told and "FIX   proxy: /assistant/readyz answers 200" in told
    )
    assert told.count("Content-Security-Policy: ") == 1
    project.manage("assistant_deploy_files", "crm.example.com", "--folder", "deploy", "--name", "crm")
    unit = (project.folder / "deploy/crm@.service").read_text()
    assert "uvicorn site_asgi:application" in unit and "DJANGO_SETTINGS_MODULE=site_settings" in unit
    assert "location = /assistant/readyz" in (project.folder / "deploy/nginx.conf").read_text()


def test_what_the_project_does_to_its_tenants_is_followed(project: Project) -> None:
    project.shell(FOLLOWED)


def test_every_setting_of_ours_that_is_read_has_a_value_in_any_project() -> None:
    known = set(dir(global_settings)) | set(setting_names()) | {"SETTINGS_MODULE", "ROOT_URLCONF"}
    read = {
        node.attr
        for path in (ROOT / "assistant").rglob("*.py")
        if path.name != "assistant_demo.py"  # which is left out of the package
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "settings"
        if node.attr.isupper()
    }
    assert read - known == set()
