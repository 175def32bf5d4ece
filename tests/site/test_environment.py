"""A wrong environment variable prevents the start, and the error names it."""

from __future__ import annotations

import os
import subprocess

import pytest
from django.conf import settings

from tests.python_template import forked_python

# The environment is read before any database.
pytestmark = pytest.mark.once

WRONG = {
    "DEBUG": "maybe",
    "DATABASE_URL": "mysql://localhost/x",
    "REDIS_URL": "http://localhost",
    "OPENAI_BASE_URL": "localhost:8000",
    "CSRF_TRUSTED_ORIGINS": "example.com",
    "ASSISTANT_FIELD_ENCRYPTION_KEYS": "too-short",
    "ASSISTANT_LOCAL_MODEL_URL": "ftp://x",
    "ASSISTANT_MCP_STDIO_COMMANDS": "[1]",
    "ASSISTANT_INTERNAL_HOSTS": "vllm.internal,0.0.0.0/0",
    "ALLOWED_HOSTS": "https://example.com",
    "ASSISTANT_UPLOAD_PATHS": "uploads",
    "OPENAI_WIRE_FORMAT": "soap",
    "ASSISTANT_TENANT_WIRE_FORMATS": "anthropic,soap",
    "ASSISTANT_FILE_READ_PROCESSES": "0",
    "EMAIL_URL": "pop3://user:mail-password@mail.example.com",
    "ASSISTANT_LOCAL_MODEL_PATH": "/nowhere/model.gguf",
}


# Values that have the right form, and could not work. One process is asked for all that it can have at once.
ALSO_WRONG = [
    {
        "LOG_LEVEL": "loud",
        "REDIS_URL": "redis://127.0.0.1:port",
        "OPENAI_BASE_URL": "http://127.0.0.1:99999/v1",
        "OPENAI_API_KEY": "sk-ключ",
        "EMAIL_URL": "smtp+tls://",
        "DATABASE_URL": "postgres://",
    },
    {"REDIS_URL": "redis://127.0.0.1/first", "DATABASE_URL": "sqlite:////nowhere/at/all.sqlite3"},
    {"DATABASE_URL": "nonsense"},
]


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    return subprocess.run(
        [str(forked_python()), *command],
        cwd=settings.BASE_DIR,
        env=inherited | {"ENV_FILE": os.devnull, "SECRET_KEY": "x" * 60} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_every_wrong_value_is_named_at_once_and_no_secret_is_repeated() -> None:
    done = run("manage.py", "check", **WRONG)
    assert done.returncode != 0
    for name in WRONG:
        assert f"The environment variable {name} " in done.stderr
    assert "too-short" not in done.stderr
    assert "mail-password" not in done.stderr


@pytest.mark.parametrize("wrong", ALSO_WRONG, ids=lambda wrong: wrong["DATABASE_URL"])
def test_values_that_could_not_work_are_named(wrong: dict[str, str]) -> None:
    done = run("manage.py", "check", **wrong)
    assert done.returncode != 0
    assert [name for name in wrong if f"The environment variable {name} " not in done.stderr] == []
    assert "Traceback" not in done.stderr and "ключ" not in done.stderr


def test_a_server_does_not_start_on_a_wrong_value() -> None:
    wrong = {name: WRONG[name] for name in ("DEBUG", "REDIS_URL", "ASSISTANT_INTERNAL_HOSTS")}
    done = run("-c", "import config.asgi", **wrong)
    assert done.returncode != 0
    assert all(name in done.stderr for name in wrong)


PUBLIC_DEBUG = "must be false where ALLOWED_HOSTS has the public name"


@pytest.mark.parametrize(
    "host", ["assistant.example.com", ".example.com", "*", "8.8.8.8", "[2606:4700::1111]", "local.example.com"]
)
def test_debug_pages_are_not_for_the_public(host: str) -> None:
    told = "from config import settings; print(settings.ASSISTANT_ENVIRONMENT_PROBLEMS)"
    problem = ("DEBUG", f"{PUBLIC_DEBUG} {host!r}")
    assert run("-c", told, DEBUG="true", ALLOWED_HOSTS=f"localhost,{host}").stdout.strip() == str([problem])


@pytest.mark.parametrize("command", [("manage.py", "check"), ("-c", "import config.asgi")], ids=["check", "server"])
def test_nothing_starts_with_debug_pages_for_the_public(command: tuple[str, ...]) -> None:
    done = run(*command, DEBUG="true", ALLOWED_HOSTS="localhost,assistant.example.com")
    assert done.returncode != 0
    assert f"The environment variable DEBUG {PUBLIC_DEBUG} 'assistant.example.com'" in done.stderr


def test_debug_pages_are_for_names_inside() -> None:
    hosts = "localhost,.localhost,127.0.0.1,[::1],web,10.1.2.3,192.168.0.7,[fd12::1],printer.local,acme.test,.test"
    assert run("manage.py", "check", DEBUG="true", ALLOWED_HOSTS=hosts).returncode == 0


def test_e_mail_goes_where_the_variable_says() -> None:
    code = (
        "import django; django.setup(); from django.conf import settings as s; "
        "from assistant.services.tenancy.mail import is_mail_configured as on; "
        "print(on(), s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_USE_TLS, s.EMAIL_TIMEOUT)"
    )
    module = {"DJANGO_SETTINGS_MODULE": "config.settings"}
    set_up = run("-c", code, EMAIL_URL="smtp+tls://me:secret@mail.example.com:587", **module)
    assert set_up.stdout.split() == ["True", "mail.example.com", "587", "True", "10"]
    assert run("-c", code, **module).stdout.split()[0] == "False"


def test_redis_may_be_at_a_socket() -> None:
    assert run("manage.py", "check", REDIS_URL="unix:///run/redis.sock").returncode == 0


@pytest.mark.parametrize(
    ("environment", "is_secure"),
    [
        ({}, False),
        ({"ALLOWED_HOSTS": "127.0.0.1,[::1]"}, False),
        ({"ALLOWED_HOSTS": "localhost,assistant.example.com"}, True),
        ({"ALLOWED_HOSTS": "*"}, True),
    ],
)
def test_http_without_tls_is_only_for_local_hosts(environment: dict[str, str], is_secure: bool) -> None:
    names = ("SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")
    told = f"from config import settings; print(*(getattr(settings, name) for name in {names}))"
    assert run("-c", told, **environment).stdout.split() == [str(is_secure)] * 3
