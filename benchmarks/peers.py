"""Virtual environments of the other packages, built once with the pinned versions, in a folder that git ignores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
ENVIRONMENTS = HERE / ".peers"


def python_of(name: str) -> str:
    """Return the interpreter of the environment of `requirements-<name>.txt`, which is built if it is not current."""
    pins = (HERE / f"requirements-{name}.txt").read_text()
    folder, stamp = ENVIRONMENTS / name, ENVIRONMENTS / name / ".installed"
    python = str(folder / "bin" / "python")
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"Building the environment of {name} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-warn-conflicts"]
        subprocess.run([*install, "-r", HERE / f"requirements-{name}.txt"], check=True)
        stamp.write_text(pins)
    return python
