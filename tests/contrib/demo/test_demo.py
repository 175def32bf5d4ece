"""The demo: two rivals with the same customer numbers, safe to repeat, and only where DEBUG is on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import httpx2
import pytest
from django.conf import settings
from django.contrib.auth import authenticate, get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, override_settings

from assistant.contrib.demo.tenants import load_demo_tenants
from assistant.models import Assistant, Membership, PromptVersion, Tenant, ToolSetting
from assistant.services.toolpolicy.policy import effective_tools
from tests.factories import make_provider
from tests.live import free_port
from tests.python_template import forked_python
from tools.models import Customer

# The commands are tried on the database of the demo, SQLite.
pytestmark = pytest.mark.once

ROOT = Path(settings.BASE_DIR)


@pytest.fixture
def demo(db: None) -> None:
    with override_settings(DEBUG=True):
        load_demo_tenants()


def test_everybody_of_the_banner_can_sign_in(db: None) -> None:
    with override_settings(DEBUG=True):
        sign_ins = load_demo_tenants()
    assert [entry.username for entry in sign_ins] == ["alice", "amy", "mallory", "greta", "admin"]
    assert all(authenticate(username=entry.username, password=entry.password) for entry in sign_ins)


def test_customer_42_is_somebody_else_to_each(demo: None) -> None:
    names = set(Customer.objects.filter(number=42).values_list("name", flat=True))
    assert len(names) == 2


def test_each_assistant_has_a_published_prompt_and_tools(demo: None) -> None:
    for assistant in Assistant.objects.all():
        assert assistant.prompt_versions.get(status=PromptVersion.Status.PUBLISHED).text
        member = Membership.objects.filter(tenant=assistant.tenant).first()
        assert member is not None
        found = effective_tools(tenant_id=assistant.tenant_id, user_id=member.user_id, assistant_id=assistant.pk)
        assert sum(entry.policy != "off" for entry in found) >= 5


@pytest.mark.parametrize(
    ("address", "said"), [("", "No language model."), ("http://127.0.0.1:9/v1", "Small demo model.")]
)
def test_the_page_says_who_answers_and_how_to_connect_a_real_model(
    demo: None, client: Client, address: str, said: str
) -> None:
    client.force_login(get_user_model().objects.get(username="alice"))
    with override_settings(ASSISTANT_LOCAL_MODEL_URL=address):
        page = client.get("/t/acme/").content.decode()
    assert said in page and "export OPENAI_API_KEY=" in page and "make demo" in page


def test_a_page_with_a_real_model_says_nothing_of_the_demos(demo: None, client: Client) -> None:
    acme = Tenant.objects.get(slug="acme")
    acme.default_provider = make_provider(acme, base_url="http://127.0.0.1:9/v1")
    acme.save(update_fields=["default_provider"])
    client.force_login(get_user_model().objects.get(username="alice"))
    assert "small-model" not in client.get("/t/acme/").content.decode()


def test_a_second_load_changes_nothing(demo: None) -> None:
    ToolSetting.objects.filter(tool="get_customer").update(policy="off")
    Tenant.objects.filter(slug="acme").update(name="Acme, renamed")
    before = [model.objects.count() for model in (Tenant, Membership, Assistant, PromptVersion, ToolSetting, Customer)]
    with override_settings(DEBUG=True):
        load_demo_tenants()
    after = [model.objects.count() for model in (Tenant, Membership, Assistant, PromptVersion, ToolSetting, Customer)]
    assert before == after
    assert Tenant.objects.get(slug="acme").name == "Acme, renamed"
    assert not ToolSetting.objects.filter(tool="get_customer").exclude(policy="off").exists()


def test_public_passwords_are_for_debug_only(db: None) -> None:
    with pytest.raises(ImproperlyConfigured, match="DEBUG"):
        load_demo_tenants()
    assert not Tenant.objects.exists()


def wait_for(process: subprocess.Popen[str], url: str) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return int(answer.status)
        except OSError:
            time.sleep(0.1)
    return 0


def test_the_command_serves_and_repeats(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "DEBUG"))}
    environment |= {
        "ENV_FILE": os.devnull,
        "DATABASE_URL": f"sqlite:///{tmp_path}/demo.sqlite3",
        "DEBUG": "true",
        "REDIS_URL": "",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    for _ in range(2):
        port = free_port()
        command = [str(forked_python()), "manage.py", "demo", "--port", str(port), "--model", "none"]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            status = wait_for(process, f"http://127.0.0.1:{port}/accounts/login/")
            missing = httpx2.get(f"http://127.0.0.1:{port}/nowhere/", timeout=20)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=30)
        assert status == 200, output
        assert missing.status_code == 404
        assert "<h1>Page not found</h1>" in missing.text
        assert "DEBUG" not in missing.text
        assert "demo-alice-pass" in output
        assert f"http://127.0.0.1:{port}/admin/" in output
        assert "Traceback" not in output


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [str(forked_python()), "manage.py", "demo", "--port", str(port), "--model", "none"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/x.sqlite3", "ENV_FILE": os.devnull},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"Port {port} is not free" in done.stderr
