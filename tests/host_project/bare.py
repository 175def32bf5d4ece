"""A bare environment: a release's wheel, and beside it only what the wheel itself asks for."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, EntryPoint, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.snippets import ROOT

_SCRIPT = "#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"


def build(folder: Path) -> Path:
    """Build a release as `make dist` does, and return the wheel."""
    # The environment of the tests is used as it is, even if make finds its stamp older than a file.
    command = ["make", "dist", f"VENV={sys.prefix}", f"DIST={folder}", "--old-file", f"{sys.prefix}/.installed-dev"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_bare(folder: Path, wheel: Path, *, extras: Iterable[str] = ()) -> Path:
    """Make an environment with the wheel and its dependencies, linked instead of downloaded; return its `bin`.

    It has no pip, and no package that the wheel and its extras do not name, directly or through another.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=100)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (own,) = (Distribution.at(path) for path in site.glob("tenant_assistant-*.dist-info"))
    for script in own.entry_points.select(group="console_scripts"):
        _write_script(folder / "bin", script)
    folders = set()
    for found in _closure(own, extras):
        home = Path(str(found.locate_file(""))).resolve()
        for file in found.files or ():
            name = str(file)
            if name.startswith(".."):
                continue
            if file.parent not in folders:
                (site / file.parent).mkdir(parents=True, exist_ok=True)
                folders.add(file.parent)
            os.symlink(f"{home}/{name}", f"{site}/{name}")  # noqa: PTH211 - ten thousand: a third of the time
        for script in found.entry_points.select(group="console_scripts"):
            _write_script(folder / "bin", script)
    return folder / "bin"


def _closure(own: Distribution, extras: Iterable[str]) -> Iterator[Distribution]:
    seen: set[tuple[str, str]] = set()
    given = set()
    waiting = [(own, extra) for extra in ("", *extras)]
    while waiting:
        one, extra = waiting.pop()
        for line in one.requires or ():
            wanted = Requirement(line)
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
                continue
            if canonicalize_name(wanted.name) == canonicalize_name(own.name):
                waiting += [(own, of_it) for of_it in wanted.extras]  # an extra that is several others
                continue
            for of_it in ("", *wanted.extras):
                key = (canonicalize_name(wanted.name), of_it)
                if key not in seen:
                    seen.add(key)
                    found = distribution(wanted.name)
                    waiting.append((found, of_it))
                    if canonicalize_name(wanted.name) not in given:
                        given.add(canonicalize_name(wanted.name))
                        yield found


def _write_script(folder: Path, script: EntryPoint) -> None:
    path = folder / script.name
    path.write_text(_SCRIPT.format(python=folder / "python", module=script.module, function=script.attr))
    path.chmod(0o755)
