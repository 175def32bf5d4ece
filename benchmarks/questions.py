"""Counts of the questions of three of the tests' projects those that the embedded chat model answers by the right rows.

python -m benchmarks.questions [shop] [pages] [warehouse] --url http://127.0.0.1:8011 [--seconds 3600] > asked.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = ROOT / "tests/host_project"


@dataclass(frozen=True, slots=True)
class Project:
    """A project of the tests: its folder, the apps without migrations, and the test that asks."""

    folder: str
    apps: tuple[str, ...]
    test: str


ASKED = {
    "shop": Project("shop", ("people", "orders"), "orders.tests_questions"),
    "pages": Project("pages", ("cms",), "cms.tests.QuestionTests.test_twenty_questions_are_answered"),
    "warehouse": Project("leaky", ("stock",), "stock.tests.QuestionTests.test_twenty_questions_are_answered"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions")
    parser.add_argument("projects", nargs="*", help=f"Of: {', '.join(ASKED)}; all unless given.")
    parser.add_argument("--url", required=True, help="Of the model: manage.py assistant_local_model serve.")
    parser.add_argument("--seconds", type=float, default=900, help="For one question, which then counts as slow.")
    options = parser.parse_args()
    for name in options.projects or ASKED:
        right = asked = 0
        for one in answers(ASKED[name], options.url, options.seconds):
            print(json.dumps({"project": name, **one}), flush=True)
            asked += 1
            right += one["is_right"]
        print(f"{name}: {right} of {asked}", file=sys.stderr, flush=True)


def answers(project: Project, url: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield what became of each question of a project, as it is asked; each has so many seconds.

    Raises:
        RuntimeError: the project's test has failed, so that not all were asked.
    """
    with TemporaryDirectory() as made:
        folder = Path(made) / project.folder
        shutil.copytree(PROJECTS / project.folder, folder, ignore=shutil.ignore_patterns("*.sqlite3", "__pycache__"))
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment = inherited | {"PYTHONPATH": f"{ROOT}:{folder}"}
        environment |= {"QUESTIONS_ASKED_OF": url, "QUESTIONS_SECONDS": str(seconds)}
        command = [sys.executable, "manage.py"]
        subprocess.run([*command, "makemigrations", *project.apps, "-v0"], cwd=folder, env=environment, check=True)
        test = [*command, "test", "--noinput", project.test]
        with subprocess.Popen(test, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                if line.startswith('{"question"'):
                    yield json.loads(line)
        if running.returncode:
            raise RuntimeError(f"The questions of {project.folder} were not all asked.")


if __name__ == "__main__":
    main()
