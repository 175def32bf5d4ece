"""Optional apps: there if INSTALLED_APPS names them, absent without a trace otherwise."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
from django.conf import settings

from assistant.contrib.evaluations.models import Evaluation
from assistant.contrib.row_level_security.protected_tables import protected_tables
from assistant.models import Tenant
from assistant.optional_apps import (
    installed,
    labels,
    own_model,
    own_models,
    setting_names,
    settings_of_absent_apps,
)
from assistant.services.privacy.ownership import owned_models
from tests.docs.snippets import ROOT
from tests.python_template import forked_python

pytestmark = pytest.mark.once

# A project whose admin is Django's own, with all apps but the control panel: opens the lists and forms of all models.
WITHOUT_THE_PANEL = """
from django.conf import settings
others = {"config.apps.PanelConfig": "django.contrib.admin"}
others |= {"config.apps.CheckoutConfig": "", "assistant.contrib.panel": ""}
settings.INSTALLED_APPS = [name for app in settings.INSTALLED_APPS if (name := others.get(app, app))]
import sys, types
sys.modules["own_urls"] = urls = types.ModuleType("own_urls")
settings.ROOT_URLCONF = "own_urls"
import django; django.setup()
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.test.runner import DiscoverRunner
from django.urls import include, path
urls.urlpatterns = [path("assistant/", include("assistant.urls")), path("admin/", admin.site.urls)]
DiscoverRunner(verbosity=0).setup_databases()
browser = Client(raise_request_exception=False)
browser.force_login(User.objects.create_superuser("root"))
lists = [f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry]
pages = [*lists, *(page + "add/" for page in lists)]
statuses = {page: browser.get(page).status_code for page in pages}
print([page for page, status in statuses.items() if status >= 500], [*statuses.values()].count(200) > 40)
"""

CONTRIB = ROOT / "assistant" / "contrib"
APPS = sorted(f"assistant.contrib.{path.parent.name}" for path in CONTRIB.glob("*/apps.py"))
# What a process of the core alone has: modules of optional apps, but for those that this checkout's settings read, and
# their addresses.
TRACES = """
import django, sys; django.setup()
import config.asgi
from assistant.asgi.mounts import mounted
print([name for name in sys.modules if name.startswith("assistant.contrib.") and name.count(".") > 2
    and not name.endswith(".defaults")])
print([*mounted()])
from django.apps import apps
from django.contrib import admin
from django.core.management import get_commands
from assistant.services.jobs import jobs, names
from assistant.services.privacy import retention_rules
print([model._meta.label for model in apps.get_models() if "evaluation" in model._meta.db_table])
print([model for model in admin.site._registry if model._meta.app_label == "assistant_evaluations"])
commands = ("assistant_evaluate", "assistant_bundle", "assistant_deliver_webhooks")
print([name for name in get_commands() if name in commands])
print([*retention_rules._rules])
print([name for name in names.of_tenants() if "evaluation" in name or "hostile" in name])
from assistant.asgi import json_apis
from assistant.optional_apps import paths_for_programs, urlpatterns
print([api.prefix for api in json_apis._apis if api.prefix != "api/"] + [*paths_for_programs(), *urlpatterns()])
from assistant import optional_apps
from assistant.pages import added_settings, conversation_menu, member_links
from assistant.services import loop_services, readiness, shown_notices, tenant_events
from assistant.services.tenancy import row_scope, scopes
from assistant.websocket import added_frames
print([*added_frames._handlers, *shown_notices._notices, *member_links._links, *added_settings._makers]
    + [*conversation_menu._entries, *conversation_menu._below_list, *readiness._checks, *readiness._probes]
    + [*row_scope._explanations])
print([name for name, _ in tenant_events.event_choices() if name.startswith(("alarm", "schedule"))]
    + [*optional_apps.library_modules()])
print([*tenant_events._receivers, *loop_services._factories])
print([kind for kind in retention_rules.kinds() if kind == "deliveries"])
from assistant.services.tenancy import authentication, end_users
print([*authentication._tokens, *scopes.SCOPES[4:], *[1 for _ in [0] if end_users.are_identified()]])
from assistant.pages import added_parts
from assistant.services.tenancy import sign_in_steps
print([*sign_in_steps._steps, *member_links._account_links, *added_parts._parts["sign-in"]])
print([name for name in (*scopes.REST, *scopes.FRAMES) if name.startswith(("alarm", "schedule"))])
from assistant.services import warm_up
from assistant.services.privacy import leaving_rules
from assistant.services.toolpolicy import outside_tools
print([*outside_tools._sources, *leaving_rules._names, *warm_up._modules[1:]])
from assistant.services.assistants import additions
from assistant.services.runs.extensions import added
from assistant.services.toolpolicy import tools_of_runs
print([*additions.INLINES, *additions.ANNOTATIONS, *added.FIRST_EXTENSIONS, *tools_of_runs._added])
from assistant.services.toolcalls import later_results
from assistant.services.toolpolicy import many_tools
print([*later_results._keeper, *many_tools._wrap])
print([*jobs._modules], hasattr(apps.get_model("assistant", "Assistant"), "evaluations"))
"""


def run(script: str, **environment: str) -> str:
    chosen = {"DJANGO_SETTINGS_MODULE": "tests.settings", **environment}
    done = subprocess.run(
        [str(forked_python()), "-c", script], cwd=ROOT, env={**os.environ, **chosen}, capture_output=True, text=True,
        timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_checkout_installs_every_optional_app() -> None:
    assert APPS and [app.name for app in installed()] == [app for app in settings.INSTALLED_APPS if app in APPS]
    assert {app.name for app in installed()} == {*APPS}


@pytest.mark.parametrize("app", APPS)
def test_an_optional_app_carries_our_name(app: str) -> None:
    (config,) = (config for config in installed() if config.name == app)
    assert config.label == f"assistant_{app.rpartition('.')[2]}"


def test_the_core_alone_has_no_trace_of_them() -> None:
    assert run(TRACES, TEST_APPS="core", TEST_SUMS="no").splitlines() == [*["[]"] * 18, "[] False"]


def test_with_all_of_them_each_of_these_traces_is_there() -> None:
    traces = run(TRACES).splitlines()
    assert len(traces) == 19 and not {"[]", "[] False"} & {*traces}


class Project:
    """A settings module of a project, with one setting."""

    def is_overridden(self, name: str) -> bool:
        return name == "ASSISTANT_MCP_SESSIONS"


def test_a_setting_of_an_app_that_is_absent_is_named_with_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = (
        "from django.core.checks import run_checks; print([one.msg for one in run_checks() if one.id[-4:] == 'W008'])"
    )
    told = run(
        f"import django; django.setup(); {checked}",
        TEST_APPS="core",
        ASSISTANT_MCP_SESSIONS="true",
        ASSISTANT_METRICS_TENANTS="3",
    )
    assert "ASSISTANT_MCP_SESSIONS is a setting of assistant.contrib.mcp_server, which is not in INSTALLED_APPS" in told
    assert "ASSISTANT_METRICS_TENANTS is a setting of assistant.contrib.metrics" in told


def test_the_settings_of_an_installed_app_are_no_problem() -> None:
    own: Any = Project()
    assert setting_names()["ASSISTANT_MCP_SESSIONS"] == "assistant.contrib.mcp_server"
    assert list(settings_of_absent_apps(own, [])) == []


def test_a_wrong_setting_of_an_optional_app_stops_the_start() -> None:
    script = "import django; django.setup(); from assistant.optional_apps import problems_of_settings as p; print(p())"
    assert "ASSISTANT_MCP_SESSIONS must be true or false" in run(script, ASSISTANT_MCP_SESSIONS="perhaps")


def test_models_of_optional_apps_are_ours_and_no_projects() -> None:
    assert {"assistant", "assistant_evaluations"} <= labels() and "auth" not in labels()
    assert {Tenant, Evaluation} <= {*own_models()}
    assert (own_model("evaluation"), own_model("user")) == (Evaluation, None)


def test_their_rows_are_a_tenants_to_erase_to_export_and_to_hide_from_others() -> None:
    app = [model for model in own_models() if model._meta.app_label == "assistant_evaluations"]
    assert len(app) == 6 and {*app} <= {*owned_models(Tenant)}
    assert {model._meta.db_table for model in app} <= {table.table for table in protected_tables()}


def test_a_setting_that_protects_stops_the_start_where_its_app_is_absent() -> None:
    checked = "from django.core.checks import run_checks; print([one.msg for one in run_checks() if one.is_serious()])"
    told = run(f"import django; django.setup(); {checked}", TEST_APPS="core", ASSISTANT_SECOND_FACTOR="required")
    assert "ASSISTANT_SECOND_FACTOR is a setting of assistant.contrib.sign_in, which is not in INSTALLED_APPS" in told


def test_every_page_of_the_admin_opens_without_the_control_panel() -> None:
    assert run(WITHOUT_THE_PANEL, TEST_APPS="all").splitlines()[-1] == "[] True"
