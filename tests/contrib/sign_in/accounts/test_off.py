"""Sign-in with a second factor is off unless the operator switches it on, and no project is changed unasked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.contrib.auth import get_user
from django.test import Client

from assistant.contrib.sign_in import checks
from tests.base import Cast
from tests.contrib.sign_in.accounts.steps import FACTORS, SECOND_STEP, SIGN_IN, enter_password, give_app

SHOW = """
import sys, django
django.setup()
from django.conf import settings
from django.urls import NoReverseMatch, reverse
found = [name for name in (*settings.INSTALLED_APPS, *settings.MIDDLEWARE, *sys.modules) if name.startswith("allauth")]
pages = []
for name in ("account_login", "mfa_index"):
    try:
        pages.append(reverse(name))
    except NoReverseMatch:
        pass
print(len(found), pages)
"""


def shown(folder: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=folder,
        env={**environment, "ENV_FILE": os.devnull, "DEBUG": "true", "PYTHONPATH": str(site.BASE_DIR), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_checkout_has_none_of_it_by_default() -> None:
    assert shown(site.BASE_DIR, DJANGO_SETTINGS_MODULE="config.settings", ASSISTANT_SECOND_FACTOR="") == "0 []"


def test_one_variable_switches_it_on_in_the_checkout() -> None:
    found = shown(site.BASE_DIR, DJANGO_SETTINGS_MODULE="config.settings", ASSISTANT_SECOND_FACTOR="optional")
    assert not found.startswith("0 ") and found.endswith(f"['{SIGN_IN}', '{FACTORS}']")


@pytest.mark.parametrize("mode", ["", "required"])
def test_a_project_of_ones_own_is_not_touched(mode: str) -> None:
    folder = site.BASE_DIR / "tests" / "host_project" / "crm"
    found = shown(
        folder, DJANGO_SETTINGS_MODULE="site_settings", HOST_DATABASE=":memory:", ASSISTANT_SECOND_FACTOR=mode
    )
    assert found == "0 []"


def test_off_means_that_a_factor_is_not_asked_for(cast: Cast, second_factor: Any) -> None:
    give_app(cast.alice)
    second_factor.ASSISTANT_SECOND_FACTOR = "off"
    second_factor.ROOT_URLCONF = "config.urls"
    client = Client()
    assert enter_password(client, "alice").url == "/"
    assert get_user(client) == cast.alice  # type: ignore[arg-type]
    assert client.get("/t/acme/").status_code == 200
    assert client.get(FACTORS).status_code == client.get(SECOND_STEP).status_code == 404
    assert Client().get("/admin/login/").status_code == 200
    assert "second factor" not in client.get("/t/acme/").content.decode()


def test_a_check_says_what_a_project_lacks(second_factor: Any) -> None:
    second_factor.ASSISTANT_REDIS_URL = ""
    assert checks.second_factor(None) == []
    second_factor.ROOT_URLCONF = "config.urls"
    second_factor.MIDDLEWARE = [name for name in second_factor.MIDDLEWARE if not name.endswith("SecondFactor")]
    del second_factor.MFA_ADAPTER
    found = [error.msg for error in checks.second_factor(None)]
    assert len(found) == 3
    for words in (
        "the URLs of sign-in are missing",
        "assistant.contrib.sign_in.middleware.SecondFactor",
        "MFA_ADAPTER",
    ):
        assert any(words in line for line in found)
    second_factor.ASSISTANT_SECOND_FACTOR = "off"
    assert checks.second_factor(None) == []


@pytest.mark.parametrize(
    ("cache", "redis", "warned"),
    [
        ("locmem.LocMemCache", "redis://r/1", True),
        ("redis.RedisCache", "redis://r/1", False),
        ("locmem.LocMemCache", "", False),
    ],
)
def test_a_check_warns_about_a_cache_of_one_process(
    cache: str, redis: str, warned: bool, second_factor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_factor.ASSISTANT_REDIS_URL = redis
    # In place, so that nothing connects to it.
    monkeypatch.setitem(site.CACHES["default"], "BACKEND", f"django.core.cache.backends.{cache}")
    assert [found.id for found in checks.second_factor(None)] == ["assistant.W007"] * warned
