"""`tenant-assistant demo`: serves the demo from the installed package, without a checkout."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

# In the wheel, the checkout's project (`config`, `tools` and its error pages) is a folder of this app.
_PACKAGED = Path(__file__).resolve().parent / "project"
_CHECKOUT = Path(__file__).resolve().parents[3]
# Modules of the extra `demo` without which the project's settings cannot be loaded.
_NEEDED = ("uvicorn", "whitenoise")


def main() -> int:
    """Serve the demo as the process's arguments say, and return the exit status."""
    options = _parser().parse_args(sys.argv[2:])
    if any(find_spec(module) is None for module in _NEEDED):
        print(
            "The demo needs packages that are not installed: pip install 'tenant-assistant[demo]', "
            "or with its language model 'tenant-assistant[demo,local-model]'.",
            file=sys.stderr,
        )
        return 1
    _serve_demo(options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tenant-assistant demo", description="Serve two demo tenants on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--model",
        choices=("embedded", "none"),
        help="who answers if no provider is configured: the embedded model (1.1 GB, fetched once) or a stand-in",
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where its database and files are")
    return parser


def _serve_demo(options: argparse.Namespace) -> None:
    """Serve the demo until it is stopped, with its own settings and a folder for what it writes."""
    project = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    data = options.data or (_data_folder() if project == _PACKAGED else project)
    data.mkdir(parents=True, exist_ok=True)
    # Another project's settings, named in the person's shell, are not the demo's.
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["ASSISTANT_DATA_DIR"] = str(data.resolve())
    os.environ.setdefault("ASSISTANT_ATTACHMENTS_DIR", str(data.resolve() / "attachments"))
    os.environ.setdefault("DEBUG", "true")
    sys.path.insert(0, str(project))
    from django.core.management import execute_from_command_line

    from assistant.services.tenancy.row_scope import all_tenants

    model = ["--model", options.model] if options.model else []
    with all_tenants():
        # Who starts the demo is its operator.
        execute_from_command_line(["tenant-assistant", "assistant_demo", "--port", str(options.port), *model])


def _data_folder() -> Path:
    """Return the demo's folder among the data of the person's programs, by the XDG Base Directory Specification."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "tenant-assistant" / "demo"
