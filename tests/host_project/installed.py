"""The apps installed as a package, as `pip install` of the checkout does it, but for their dependencies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from tests.fake_provider import FakeProvider
from tests.host_project.bare import build, make_bare
from tests.python_template import forked_python


@contextmanager
def installed(folder: Path) -> Iterator[tuple[dict[str, str], FakeProvider]]:
    """An environment for commands of another project, in which the package is found below `folder`; and who answers."""
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(settings.BASE_DIR)],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    with FakeProvider() as provider:
        yield (
            _environment(provider, forked_python().parent, Path(sys.executable).parent) | {"PYTHONPATH": str(folder)},
            provider,
        )


@contextmanager
def released(folder: Path) -> Iterator[tuple[dict[str, str], FakeProvider]]:
    """As `installed`, but with the wheel of a release, in an environment that has nothing else."""
    programs = make_bare(folder / "bare", build(folder / "dist"), extras=["all"])
    with FakeProvider() as provider:
        yield _environment(provider, programs), provider


def _environment(provider: FakeProvider, *programs: Path) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return inherited | {
        "PATH": ":".join([*map(str, programs), os.environ["PATH"]]),
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_MODEL": "test-model",
    }


def run(command: list[str], folder: Path, environment: Mapping[str, str], *, seconds: float = 300) -> str:
    """What a command printed. Raises `AssertionError` with its last words if it fails."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
