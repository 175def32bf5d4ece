"""docs/into-your-project.md and docs/go-live.md, word for word, on a project with customers and a release's wheel."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest

from tests.docs.reader import Reader
from tests.docs.snippets import ROOT, blocks
from tests.host_project.installed import released, run

INTO, LIVE = ROOT / "docs/into-your-project.md", ROOT / "docs/go-live.md"
# What the reader has before: accounts with seats and invoices.
MODELS = next(one.text for one in blocks(ROOT / "docs/saas.md", "python") if "class Account(models.Model)" in one.text)
ROWS = """
from django.contrib.auth.models import User
from accounts.models import Account, Invoice, Seat
for name in ("initech", "globex"):
    account = Account.objects.create(subdomain=name, company=name.title())
    Invoice.objects.create(account=account, number=1, total="12.50" if name == "initech" else "99.00")
    user = User.objects.create_user(f"boss-{name}", password="correct-horse")
    Seat.objects.create(account=account, user=user, is_manager=True)
"""
# The proxy sends the policy; there is no Redis here.
NOT_OF_THE_PROCESS = {"Content-Security-Policy", "Redis"}


def ask(url: str, key: str, question: str) -> str:
    """The answer to a question that the program of a customer asks."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=f"{url}/assistant/api/v1/tenants/initech/", headers=headers, timeout=60) as client:
        made = client.post("conversations/", json={"assistant": "helper"}).raise_for_status().json()
        return client.post(f"conversations/{made['id']}/runs/", json={"message": question}).raise_for_status().text


@pytest.mark.once
@pytest.mark.timeout(900)
def test_a_project_with_customers_answers_and_goes_live(tmp_path: Path) -> None:
    project = tmp_path / "product"
    project.mkdir()
    with released(tmp_path) as (environment, provider):
        run(["django-admin", "startproject", "mysite", "."], project, environment)
        run(["python", "manage.py", "startapp", "accounts"], project, environment)
        (project / "accounts/models.py").write_text(MODELS)
        with (project / "mysite/settings.py").open("a") as settings:
            settings.write('INSTALLED_APPS += ["accounts"]\n')
        for command in (["makemigrations", "accounts"], ["migrate"], ["shell", "-c", ROWS]):
            run(["python", "manage.py", *command, "-v0"], project, environment)
        reader = Reader(project, environment, probe="/assistant/healthz")
        told = ""
        for block in blocks(INTO, "python", "sh"):
            if block.language == "python":
                (project / block.text.splitlines()[0].strip("# ")).write_text(block.text)
            elif "serve" in block.words:
                key = reader.run("python manage.py assistant_create_api_key initech boss-initech").split()[-1]
                provider.call("find_invoices", {})
                provider.reply("One, of 12.50.")
                with reader.serving(block.text):
                    assert "One, of 12.50." in ask(f"http://127.0.0.1:{reader.port}", key, "Which invoices are there?")
            elif not block.text.startswith("pip install"):
                told = reader.run(block.text.replace("tenant-assistant init", "echo y | tenant-assistant init"),
                                  keeps="choice" not in block.words)  # fmt: skip
        assert "find_invoices" in told and "count_people" in told
        (result,) = (one.messages[-1] for one in provider.requests if one.messages[-1]["role"] == "tool")
        assert "12.50" in result["content"] and "99" not in result["content"]
        check_going_live(project, reader)


def check_going_live(project: Path, reader: Reader) -> None:
    """Follow docs/go-live.md; all that the check asks for is done, but for what is not the process's."""
    told = ""
    for block in blocks(LIVE, "python", "sh"):
        if block.language == "python":
            with (project / "mysite/settings.py").open("a") as settings:
                settings.write(block.text)
        elif "yours" in block.words:
            assert re.findall(r"(\w+)=", block.text)[:3] == ["ALLOWED_HOSTS", "DATABASE_URL", "ASSISTANT_REDIS_URL"]
            reader.run(
                "export ALLOWED_HOSTS=assistant.example.com ASSISTANT_REDIS_URL=redis://127.0.0.1:1/0 "
                f"'DATABASE_URL=sqlite:///{project}/live.sqlite3?transaction_mode=IMMEDIATE'"
            )
        elif "check" in block.words:
            told = reader.run(f"{block.text.strip()} || true")
        else:
            reader.run(block.text)
    found = re.findall(r"^(ok|look|FIX) +([^:]+):", told, re.MULTILINE)
    assert {part for kind, part in found if kind == "FIX"} == NOT_OF_THE_PROCESS, told
    assert {"migrations", "logging", "SECRET_KEY", "proxy", "static files"} <= {
        part for kind, part in found if kind == "ok"
    }
    unit = (project / "deploy/mysite@.service").read_text()
    assert "mysite.asgi:application" in unit
    assert "assistant.example.com" in (project / "deploy/nginx.conf").read_text()
