"""The assistant is taken out of a project whole: the project's files and tables are as they were before."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from assistant.contrib.deploy.uninstalling import importing_modules, project_files, without_assistant
from assistant.contrib.row_level_security import policies as row_level_security
from tests.docs.snippets import ROOT

SAAS = (ROOT / "docs/saas.md").read_text()
STORE = """
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from assistant.contrib.insights.models import DaySum
from assistant.models import Assistant, Attachment, Membership, Tenant
from assistant.operations import all_tenants
with all_tenants():
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    user = get_user_model().objects.create_superuser("ann", password="correct-horse")
    Membership.objects.create(tenant=tenant, user=user, role="owner")
    stored = Attachment(tenant=tenant, user=user, name="a.txt", kind="text", media_type="text/plain", size=1)
    stored.file.save("a.txt", ContentFile(b"x"))
    helper = Assistant.objects.create(tenant=tenant, slug="helper", name="Helper")
    for language in ("en", "de"):  # which an earlier migration does not tell apart
        DaySum.objects.create(tenant=tenant, assistant=helper, day="2026-01-01", language=language)
print(stored.file.path)
"""
SHOWN = """
import json
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
print(json.dumps([
    sorted(connection.introspection.table_names()),
    sorted(ContentType.objects.values_list("app_label", "model")),
    Permission.objects.count(),
    sorted(MigrationRecorder(connection).applied_migrations()),
]))
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('APPS = ["shop", "assistant", "assistant.contrib.panel"]\n', 'APPS = ["shop"]\n'),
        ('APPS = ["assistant", "shop"]\n', 'APPS = ["shop"]\n'),
        ('APPS = [\n    "shop",\n    "assistant",\n]\n', 'APPS = [\n    "shop",\n]\n'),
        ('APPS = [\n    "assistant",\n    "shop",\n]\n', 'APPS = [\n    "shop",\n]\n'),
        ('APPS += ["assistant"]\nDEBUG = True\n', "DEBUG = True\n"),
        ("A = 1\n\nASSISTANT_MAX_RUNS = 3  # few\n\nB = 2\n", "A = 1\n\nB = 2\n"),
        ('LOGIN_URL = "assistant:login"\nNAME = "the assistant"\n', 'NAME = "the assistant"\n'),
        (
            'urlpatterns = [\n    path("", home),\n    path("help/", include("assistant.urls")),\n]\n',
            'urlpatterns = [\n    path("", home),\n]\n',
        ),
        (
            "from assistant.routing import with_assistant\n\napp = with_assistant(site(), websockets=x)\n",
            "\napp = site()\n",
        ),
        (
            'T = [{"OPTIONS": {"processors": ["a.b", "assistant.pages.brand"]}}]\n',
            'T = [{"OPTIONS": {"processors": ["a.b"]}}]\n',
        ),
        ('if DEMO:\n    APPS += ["assistant"]\n', 'if DEMO:\n    APPS += ["assistant"]\n'),
        ("DEBUG = True; ASSISTANT_X = 1\n", "DEBUG = True; ASSISTANT_X = 1\n"),
        (
            'urlpatterns = [\n    path("", home),\n    path("help/", include(("assistant.urls", "assistant"))),\n]\n',
            'urlpatterns = [\n    path("", home),\n]\n',
        ),
        ("A = 1\n\n# Written by `manage.py assistant_init`, which takes it back.\nASSISTANT_X = 1\n", "A = 1\n\n"),
        ('urlpatterns += i18n_patterns(path("help/", include("assistant.page_urls")))\nX = 1\n', "X = 1\n"),
        (
            'urlpatterns = [\n    *i18n_patterns(path("help/", include("assistant.urls"))),\n    *urlpatterns,\n]\n',
            "urlpatterns = [\n    *urlpatterns,\n]\n",
        ),
        (
            'urlpatterns += i18n_patterns(path("", home), path("help/", include("assistant.urls")), a=False)\n',
            'urlpatterns += i18n_patterns(path("", home), a=False)\n',
        ),
        ('X = "größer"; APPS = ["ä", "assistant"]\n', 'X = "größer"; APPS = ["ä"]\n'),
        (
            'urlpatterns = [\n    path("api/", include([\n        path("help/", include("assistant.api_urls")),\n'
            '        path("orders/", orders),\n    ])),\n]\n',
            'urlpatterns = [\n    path("api/", include([\n        path("orders/", orders),\n    ])),\n]\n',
        ),
        (
            'urlpatterns += [path("api/", include([path("orders/", orders), path("", include("assistant.urls"))]))]\n',
            'urlpatterns += [path("api/", include([path("orders/", orders)]))]\n',
        ),
        (
            'urlpatterns += i18n_patterns(path("", include([home, path("", include("assistant.page_urls"))])))\n',
            'urlpatterns += i18n_patterns(path("", include([home])))\n',
        ),
        ('urlpatterns += [path("api/", include([path("", include("assistant.urls"))]))]\nX = 1\n', "X = 1\n"),
        ('ROLES = ["chef", "assistant"]\nROLE = "assistant"\n', 'ROLES = ["chef", "assistant"]\nROLE = "assistant"\n'),
        ('urlpatterns = [path("assistant", staff)]\n', 'urlpatterns = [path("assistant", staff)]\n'),
        ('TITLES = [("assistant", "Assistant to the chef")]\n', 'TITLES = [("assistant", "Assistant to the chef")]\n'),
    ],
)
def test_lines_that_name_the_assistant_are_taken_out(before: str, after: str) -> None:
    assert without_assistant(before) == after


class Project:
    """A project as `startproject` makes it, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = inherited | {"PYTHONPATH": str(ROOT)}
        call_command("startproject", "mysite", folder)
        self.manage("migrate")

    def tried(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the project, without a terminal."""
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            check=False,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )

    def manage(self, *words: str) -> str:
        done = self.tried(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def shell(self, code: str) -> str:
        return self.manage("shell", "-v0", "-c", code).splitlines()[-1]

    @property
    def texts(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in (self.folder / "mysite").glob("*.py")}

    def install(self) -> None:
        """Append the blocks of the document."""
        for name in ("settings", "urls", "asgi"):
            block = re.search(rf"```python\n# mysite/{name}\.py\n(.+?)```", SAAS, re.DOTALL)
            assert block
            with (self.folder / f"mysite/{name}.py").open("a") as file:
                file.write(f"\n{block[1]}")
        with (self.folder / "mysite/settings.py").open("a") as file:
            file.write('INSTALLED_APPS += ["assistant.contrib.deploy", "assistant.contrib.insights"]\n')
            file.write('MEDIA_ROOT = BASE_DIR / "media"\n')
        self.manage("migrate")


def test_settings_of_several_modules_are_looked_at_and_what_is_left_is_named(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "split_settings"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "production.py").write_text("from split_settings.base import *\n")
    (folder / "base.py").write_text(
        'from assistant.environment import Environment\n\nenv = Environment()\nINSTALLED_APPS = ["assistant", "shop"]\n'
        'ROLES = ["assistant"]\nINSTALLED_APPS.append("assistant")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "split_settings.production")
    settings.ROOT_URLCONF = settings.ASGI_APPLICATION = settings.WSGI_APPLICATION = ""
    (edited,) = project_files()
    assert edited.path == folder / "base.py"
    rest = 'ROLES = ["assistant"]\nINSTALLED_APPS.append("assistant")\n'
    assert edited.after == f'\nenv = Environment()\nINSTALLED_APPS = ["shop"]\n{rest}'
    assert edited.rest == (2, 5)


def test_modules_of_the_project_that_import_the_assistant_are_named_and_stay() -> None:
    orders = ROOT / "tools/orders.py"
    assert orders in importing_modules([])
    assert orders not in importing_modules([orders])
    assert not [path for path in importing_modules([]) if path.is_relative_to(ROOT / "assistant")]


@pytest.mark.services
def test_row_level_security_of_the_project_itself_stays(transactional_db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE own_orders (id int)")
        cursor.execute("ALTER TABLE own_orders ENABLE ROW LEVEL SECURITY")
        try:
            assert row_level_security.remove() == []
            cursor.execute("SELECT relrowsecurity FROM pg_class WHERE relname = 'own_orders'")
            assert cursor.fetchone() == (True,)
        finally:
            cursor.execute("DROP TABLE own_orders")


@pytest.mark.once
@pytest.mark.timeout(600)
def test_a_project_is_as_it_was_before(tmp_path: Path) -> None:
    project = Project(tmp_path / "site")
    before = project.texts
    shown = json.loads(project.shell(SHOWN))
    project.install()
    stored = Path(project.shell(STORE))
    assert stored.exists()
    told = project.tried("assistant_uninstall")
    assert told.returncode == 1 and "Nothing was removed" in told.stderr and stored.exists()
    assert "assistant_tenant: 1" in told.stdout and "documents: 1" in told.stdout
    assert '-INSTALLED_APPS += ["assistant"]' in told.stdout
    project.manage("assistant_uninstall", "--yes")
    assert not stored.exists()
    after = project.texts
    assert (
        after.pop("settings.py").replace('MEDIA_ROOT = BASE_DIR / "media"\n', "").rstrip()
        == before.pop("settings.py").rstrip()
    )
    # Django's own import of the document's block stays.
    assert (
        after.pop("urls.py").replace("from django.urls import include\n", "").rstrip() == before.pop("urls.py").rstrip()
    )
    assert {name: text.rstrip() for name, text in after.items()} == {
        name: text.rstrip() for name, text in before.items()
    }
    assert json.loads(project.shell(SHOWN)) == shown
    project.manage("check")


@pytest.mark.once
@pytest.mark.timeout(600)
def test_migrations_that_build_on_ours_are_not_taken_back(tmp_path: Path) -> None:
    project = Project(tmp_path / "site")
    project.install()
    migrations = project.folder / "orders/migrations"
    migrations.mkdir(parents=True)
    for folder in (migrations, migrations.parent):
        (folder / "__init__.py").touch()
    (migrations / "0001_initial.py").write_text(
        "from django.db import migrations\n\n\n"
        'class Migration(migrations.Migration):\n    dependencies = [("assistant", "0001_initial")]\n'
    )
    with (project.folder / "mysite/settings.py").open("a") as file:
        file.write('INSTALLED_APPS += ["orders"]\n')
    project.manage("migrate")
    told = project.tried("assistant_uninstall", "--yes")
    assert told.returncode == 1 and "orders.0001_initial" in told.stderr
    assert "assistant_tenant" in json.loads(project.shell(SHOWN))[0]
