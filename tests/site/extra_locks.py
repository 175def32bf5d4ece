"""Writes a lock for each extra, so that a production site installs what it serves; `make lock` runs it.

A lock has what its extra adds to the core, in the versions of requirements.txt, and includes that of the core.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/deploy/locks"
CORE = "core"
# What a checkout serves its site with, beside the extras.
SITE = "site"
_CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAME = _CONFIGURATION["project"]["name"]
EXTRAS: dict[str, list[str]] = _CONFIGURATION["project"]["optional-dependencies"]
_HEAD = "# `make lock` writes it.\n"


def included(extra: str) -> list[str]:
    """Return the other extras of the project that an extra is made of."""
    return [
        of_it for line in EXTRAS[extra] if Requirement(line).name == NAME for of_it in sorted(Requirement(line).extras)
    ]


@cache
def _compiled(uv: str, *options: str) -> list[str]:
    """Return the entries of a lock, each a package with its hashes."""
    command = [
        uv, "pip", "compile", "pyproject.toml", "--quiet", "--universal", "--python-version", "3.11",
        "--generate-hashes", "--no-header", "--no-annotate", "--constraint", "requirements.txt", *options,
    ]  # fmt: skip
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^\S.*\n(?:    .*\n)*", text, re.MULTILINE)


def write(uv: str) -> None:
    """Write all locks with a `uv` program, and delete those of extras that are gone."""
    FOLDER.mkdir(exist_ok=True)
    core = _compiled(uv)
    texts = {CORE: "".join(core)}
    for name, options in {**{extra: ("--extra", extra) for extra in EXTRAS}, SITE: ("--group", SITE)}.items():
        others = included(name) if name in EXTRAS else []
        parts = [CORE, *others]
        known = {*core}.union(*(_compiled(uv, "--extra", other) for other in others))
        texts[name] = "".join(f"-r {part}.txt\n" for part in parts)
        texts[name] += "".join(entry for entry in _compiled(uv, *options) if entry not in known)
    for path in FOLDER.glob("*.txt"):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / f"{name}.txt").write_text(_HEAD + text)


if __name__ == "__main__":
    write(sys.argv[1])
