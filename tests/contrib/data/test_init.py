"""`assistant_init` on three projects that differ: what it proposes and writes works, and is taken back whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from assistant.contrib.data.management.commands import assistant_init
from assistant.contrib.data.services.init.changes import Block, EditedBlock, added, removed, write
from tests.contrib.data import init_projects
from tests.docs.snippets import ROOT
from tests.host_project.installed import run

pytestmark = pytest.mark.timeout(900)
INIT = [sys.executable, "-c", "from assistant.contrib.data.console import main; main()", "init"]
PROJECTS = {"seats": init_projects.SEATS, "companies": init_projects.COMPANIES, "clubs": init_projects.CLUBS}
# Two tenants with a row of each kind, before the assistant knows of them.
ROWS = {
    "seats": """
from accounts.models import Account, Seat
from django.contrib.auth.models import User
from sales.models import Customer
for slug in ("acme", "globex"):
    account = Account.objects.create(subdomain=slug, company=slug)
    Seat.objects.create(account=account, user=User.objects.create(username=f"ada-{slug}"), role="manager")
    Customer.objects.create(account=account, name=f"{slug} one", email="a@b.example", portal_token="hidden")
""",
    "companies": """
from acme.projects.models import Project
from acme.users.models import Company, User
for slug in ("acme", "globex"):
    company = Company.objects.create(name=slug)
    User.objects.create(username=f"ada-{slug}", company=company, is_manager=True)
    Project.objects.create(company=company, title=f"{slug} one", budget=1)
User.objects.create(username="nobodys")
""",
    "clubs": """
from clubs.models import Club, Court
from django.contrib.auth.models import User
for slug in ("acme", "globex"):
    club = Club.objects.create(title=slug)
    club.people.add(User.objects.create(username=f"ada-{slug}"))
    club.people.add(User.objects.create(username=f"olga-{slug}"))
    Club.objects.filter(pk=club.pk).update(owner=club.people.get(username=f"olga-{slug}"))
    Court.objects.create(club=club, name=f"{slug} one")
""",
}
FIRST_TOOL = {"seats": "find_customers", "companies": "find_projects", "clubs": "find_courts"}
# Asks as the member of the first tenant, through the switches of that tenant.
ASK = """
import json
from assistant.models import Membership
from assistant.services.toolpolicy.policy import effective_tools
from assistant.testing import tool_context
import asyncio
member = Membership.objects.select_related("tenant", "user").get(user__username="ada-acme")
found = effective_tools(tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=None)
(entry,) = [entry for entry in found if entry.tool.name == "{tool}"]
result = asyncio.run(entry.tool.call("{{}}", tool_context(member.tenant, member.user)))
prompt = member.tenant.assistants.get().prompt_versions.get(status="published").text
print(json.dumps([entry.policy, member.role, result.content, prompt]))
"""


class Host:
    """A project below a folder, in which the checkout is found as an installed package is."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        init_projects.make(folder, dict(files))
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = inherited | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        self.original = self.files()

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}

    def init(self, *options: str) -> str:
        return run([*INIT, *options], self.folder, self.environment)

    def refused(self, *options: str, command: tuple[str, ...] = tuple(INIT)) -> str:
        done = subprocess.run(
            [*command, *options], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
            input="", timeout=300,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout
        return done.stdout + done.stderr

    def manage(self, *arguments: str) -> str:
        return run([sys.executable, "manage.py", *arguments], self.folder, self.environment)

    def edit(self, file: str, before: str, after: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))


@pytest.mark.once
@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_written_answers_from_own_data_and_is_taken_back_whole(name: str, tmp_path: Path) -> None:
    host = Host(tmp_path / name, PROJECTS[name])
    assert "Written" in host.init("--yes")
    written = host.files()
    assert "Nothing has changed" in host.init("--check")
    assert "Nothing is to be written" in host.init("--yes")
    host.manage("makemigrations", "-v0")
    host.manage("migrate", "-v0")
    host.manage("shell", "-v0", "-c", ROWS[name])
    host.manage("assistant_sync_tenants")
    told = host.manage("shell", "-v0", "-c", ASK.format(tool=FIRST_TOOL[name])).splitlines()[-1]
    assert "acme one" in told and "globex" not in told and "hidden" not in told
    assert told.startswith('["on", "member"' if name == "clubs" else '["on", "admin"')
    assert ("Courtside" in told) == (name == "clubs")
    host.init("--undo", "--yes")
    left = {file: text for file, text in host.files().items() if file in written or file in host.original}
    assert left == host.original


@pytest.mark.once
def test_twenty_questions_are_answered_by_the_proposed_tools(tmp_path: Path) -> None:
    host = Host(tmp_path / "companies", init_projects.COMPANIES)
    host.init("--yes")
    host.manage("makemigrations", "-v0")
    told = host.manage("test", "--noinput", "tests.contrib.data.init_questions")
    assert "Found 1 test" in told


@pytest.mark.once
def test_nothing_is_written_without_a_yes(tmp_path: Path) -> None:
    host = Host(tmp_path / "seats", init_projects.SEATS)
    told = run(["bash", "-c", 'echo n | "$0" "$@"', *INIT], host.folder, host.environment)
    assert "+    tenant_model = " in told and "Nothing was written." in told
    assert host.files() == host.original


@pytest.mark.once
def test_a_check_tells_what_has_changed_and_another_run_writes_it(tmp_path: Path) -> None:
    host = Host(tmp_path / "seats", init_projects.SEATS)
    assert "has not written anything" in host.refused("--check")
    host.init("--yes")
    host.edit("sales/models.py", "    number =", "    paid_on = models.DateField(null=True)\n    number =")
    told = host.refused("--check")
    assert "sales.Invoice, fields: customer, customer__name, number" in told and "paid_on" in told
    host.init("--yes")
    assert "Nothing has changed" in host.init("--check")
    assert '"paid_on"' in (host.folder / "sales/assistant.py").read_text()


@pytest.mark.once
def test_lines_that_were_edited_stay(tmp_path: Path) -> None:
    host = Host(tmp_path / "seats", init_projects.SEATS)
    host.init("--yes")
    host.edit("sales/assistant.py", '        "total",\n', "")
    assert "have been edited" in host.refused("--undo", "--yes")
    host.edit("sales/models.py", "    number =", "    paid_on = models.DateField(null=True)\n    number =")
    assert "They stay as they are" in host.init("--yes")
    assert '"total"' not in (host.folder / "sales/assistant.py").read_text()


@pytest.mark.once
def test_what_does_not_start_is_taken_back(tmp_path: Path) -> None:
    host = Host(tmp_path / "seats", init_projects.SEATS)
    host.edit("manage.py", "import os\n", "import os\nif sys.argv[1:] == ['check']: sys.exit('broken')\n")
    host.edit("manage.py", "import os\n", "import os, sys\n")
    before = host.files()
    assert "broken" in host.refused("--yes")
    assert host.files() == before


def test_lines_are_taken_out_of_a_file_that_had_no_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    block, change = added(tmp_path, "a.py", "# begin\ny = 2\n")
    write(tmp_path, [change])
    assert (tmp_path / "a.py").read_text() == "x = 1\n\n# begin\ny = 2\n"
    change = removed(tmp_path, block)
    assert change is not None and change.after == "x = 1"


def test_lines_that_a_formatter_has_changed_are_still_ours(tmp_path: Path) -> None:
    block = Block("a.py", "# begin\ny = [\n    1,\n]\n")
    (tmp_path / "a.py").write_text("x = 1\n\n\n# begin\ny = [1]\n")
    change = removed(tmp_path, block)
    assert change is not None and change.after == "x = 1\n"
    (tmp_path / "a.py").write_text("x = 1\n\n\n# begin\ny = [1, 2]\n")
    with pytest.raises(EditedBlock):
        removed(tmp_path, block)
    change = removed(tmp_path, block, even_if_edited=True)
    assert change is not None and change.after == "x = 1\n"


def test_line_ends_stay(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")
    _, change = added(tmp_path, "a.py", "y = 2\n")
    write(tmp_path, [change])
    assert (tmp_path / "a.py").read_bytes() == b"x = 1\r\n\r\ny = 2\r\n"


@pytest.mark.parametrize(
    ("installed", "commands"),
    [
        (("uvicorn", "httptools", "websockets", "daphne"), ["uvicorn"]),
        (("uvicorn", "daphne"), ["daphne"]),
        (("hypercorn",), ["hypercorn"]),
        (("uvicorn",), ["pip", "uvicorn"]),
        ((), ["pip", "uvicorn"]),
    ],
)
def test_the_next_step_is_a_server_that_is_installed(
    installed: tuple[str, ...], commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant_init, "find_spec", lambda name: name if name in installed else None)
    steps = list(assistant_init._starting("mysite.asgi:application"))
    assert [step.partition(" ")[0] for step in steps] == commands
    assert "mysite.asgi:application" in steps[-1]
    assert ("tenant-assistant[server]" in steps[0]) == ("pip" in commands)
