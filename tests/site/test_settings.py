"""Django settings of the assistant are checked as environment variables are, and misspelt names are named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from assistant import checks, defaults
from assistant.optional_apps import setting_names
from assistant.routing import with_assistant
from assistant.setting_text import misspelt

# Which database and Redis the tests have makes no difference here.
pytestmark = pytest.mark.once


class Project(SimpleNamespace):
    """A settings module of a project."""

    SECRET_KEY = "of-a-project"

    def is_overridden(self, name: str) -> bool:
        return hasattr(self, name)


def problems(**given: Any) -> list[str]:
    return [name for name, _ in dict(defaults.settled(Project(**given)))["ASSISTANT_SETTINGS_PROBLEMS"]]


def value(name: str, given: Any) -> Any:
    return dict(defaults.settled(Project(**{name: given})))[name]


WRONG = {
    "ASSISTANT_TENANT_LIMITS": ["messages_per_day=many", {"messages": 1}, {"runs": -1}, {"runs": 1.5}, 5, ["runs=1"]],
    "ASSISTANT_MAX_RUNS": [True, "many", -1, 1.5, [1]],
    "ASSISTANT_MAX_BODY_BYTES": [0],
    "ASSISTANT_LOCAL_MODEL_URL": ["ftp://localhost", 6379],
    "ASSISTANT_RETENTION_FROM_SERVER": [1, "maybe"],
    "ASSISTANT_UPLOAD_PATHS": [["photos"], [1], {"/photos/": 1}],
    "ASSISTANT_INTERNAL_HOSTS": [["0.0.0.0/0"], [5]],
    "ASSISTANT_MODEL_PRICES": [{"gpt": 1}, {"gpt": {"input": object()}}, "[]"],
    "ASSISTANT_FIELD_ENCRYPTION_KEYS": [["too-short"], b"bytes"],
    "OPENAI_API_KEY": ["two words", 5],
    "ASSISTANT_LOCAL_MODEL_PATH": [Path("/nowhere"), 1],
}


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, wrong in WRONG.items() for given in wrong])
def test_a_wrong_setting_is_named_and_has_its_default(name: str, given: Any) -> None:
    assert problems(**{name: given}) == [name]
    assert value(name, given) == value(name, None)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("ASSISTANT_TENANT_LIMITS", {"runs": 3}, {"connections": 5000, "runs": 3}),
        ("ASSISTANT_TENANT_LIMITS", "runs=3", {"connections": 5000, "runs": 3}),
        ("ASSISTANT_MAX_RUNS", 3, 3),
        ("ASSISTANT_MAX_RUNS", "3", 3),
        ("ASSISTANT_LOCAL_MODEL_URL", None, ""),
        ("ASSISTANT_RETENTION_FROM_SERVER", False, False),
        ("ASSISTANT_UPLOAD_PATHS", ("/photos/",), ["/photos/"]),
        ("ASSISTANT_MODEL_PRICES", {"gpt": {"input": 2, "output": 8}}, {"gpt": {"input": 2, "output": 8}}),
        ("ASSISTANT_LOCAL_MODEL_PATH", Path(__file__), Path(__file__)),
    ],
)
def test_a_right_setting_is_read_whether_it_is_text_or_a_value(name: str, given: Any, expected: Any) -> None:
    assert problems(**{name: given}) == []
    assert value(name, given) == expected


def test_no_secret_is_repeated() -> None:
    assert "too-short" not in str(dict(defaults.settled(Project(ASSISTANT_FIELD_ENCRYPTION_KEYS=["too-short"]))))


def test_neither_manage_py_nor_a_server_starts_with_a_wrong_setting(settings: Any) -> None:
    settings.ASSISTANT_SETTINGS_PROBLEMS = [("ASSISTANT_MAX_RUNS", "must be a whole number")]
    (error,) = checks.environment(None)
    assert (error.id, error.msg) == ("assistant.E001", "The setting ASSISTANT_MAX_RUNS must be a whole number.")
    with pytest.raises(ImproperlyConfigured, match="The setting ASSISTANT_MAX_RUNS must be"):
        with_assistant(None)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ASSISTANT_TENANT_LIMIT", "ASSISTANT_TENANT_LIMITS"),
        ("ASSISTANT_TENENTS", "ASSISTANT_TENANTS"),
        ("ASSISTANT_COLOUR", ""),
    ],
)
def test_a_misspelt_setting_is_named(name: str, meant: str, settings: Any) -> None:
    setattr(settings, name, "x")
    (warning,) = [found for found in run_checks() if found.id == "assistant.W006"]
    assert name in warning.msg and meant in warning.msg


def test_a_misspelt_variable_is_named_and_others_are_left_alone(settings: Any) -> None:
    # A project's own names, such as ours without what ours begin with.
    others = ["ASSISTANT_COLOUR", "PATH", *(name.removeprefix("ASSISTANT_") for name in defaults.__all__)]
    found = misspelt(defaults.__all__, settings, ["ASSISTANT_MAXRUNS", *others])
    assert list(found) == [("ASSISTANT_MAXRUNS", "ASSISTANT_MAX_RUNS")]


def test_what_is_ours_begins_with_our_name() -> None:
    """A project may have settings of its own named SCHEDULES or REDIS_URL."""
    assert [name for name in setting_names() if not name.startswith(("ASSISTANT_", "OPENAI_"))] == []
