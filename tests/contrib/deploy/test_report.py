"""The report of a fault says what is needed, and no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import django
import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.deploy.report import MAX_LINES

pytestmark = pytest.mark.django_db
SECRETS = {
    "SECRET_KEY": "correct horse battery staple of fifty characters, or more",
    "ASSISTANT_FIELD_ENCRYPTION_KEYS": ["qB1lcm5ldC1rZXktb2YtdGhpcy1kZXBsb3ltZW50LTE="],
}


def written(folder: Path, *words: str) -> str:
    file = folder / "report.md"
    try:
        call_command("assistant_check", "--report", str(file), *words)
    except CommandError as exc:
        assert "to fix" in str(exc)
    return file.read_text()


def test_it_has_versions_settings_checks_and_the_end_of_the_log(tmp_path: Path, settings: Any) -> None:
    settings.ASSISTANT_MAX_RUNS = 7
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(1_000)) + "```\n")
    report = written(tmp_path, "--log", str(log))
    for part in (
        f"Django {django.__version__}",
        "ASSISTANT_MAX_RUNS = 7",
        "assistant.contrib.deploy",
        "ok    migrations",
    ):
        assert part in report
    assert f"line {1_000 - MAX_LINES + 1}\n" in report and f"line {1_000 - MAX_LINES}\n" not in report
    assert report.count("```") == 2


def test_secrets_and_mail_addresses_are_masked(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        setattr(settings, name, value)
    monkeypatch.setenv("ASSISTANT_REDIS_URL", "redis://shop:two-words@cache.internal:6379/0")
    settings.CACHES = {
        **settings.CACHES,
        "shared": {
            "LOCATION": "redis://:three-words@cache:6379",
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        },
    }
    monkeypatch.setenv("SHOP_API_TOKEN", "hundred-apples")
    log = tmp_path / "server.log"
    told = [
        SECRETS["SECRET_KEY"],
        *SECRETS["ASSISTANT_FIELD_ENCRYPTION_KEYS"],
        "two-words",
        "hundred-apples",
        "three-words",
    ]
    told += ["sk-proj-4f5a6b7c8d9e0f", "ann@example.com", "Bearer abc.def.ghi"]
    told += ["redis://:four-words@elsewhere"]
    log.write_text("\n".join(f"refused: {one}" for one in told))
    report = written(tmp_path, "--log", str(log))
    assert report.count("refused:") == len(told)
    assert [one for one in told if one in report] == []


def test_a_log_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"absent\.log"):
        call_command("assistant_check", "--report", str(tmp_path / "report.md"), "--log", str(tmp_path / "absent.log"))
    with pytest.raises(CommandError, match="add --report"):
        call_command("assistant_check", "--log", str(tmp_path / "absent.log"))
