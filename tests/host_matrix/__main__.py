"""`python -m tests.host_matrix [HOST ...]`: make each host, install the release, serve it, and let the robot in.

Environments are kept in `.venv-hosts/`, projects and reports in `build/hosts/`. Hosts that need PostgreSQL get a
database each on the server of `TEST_DATABASE_URL`; without one they are left out, and named. What worked goes into
`works_in.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
import psycopg

# Chromium is found as the tests of the site find it.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from assistant.core.values.frame_sizes import HTTP_PROTOCOL, MAX_SERVER_FRAME  # noqa: E402
from tests.docs.snippets import ROOT  # noqa: E402
from tests.fake_answers import Answer, Recorded, reply  # noqa: E402
from tests.fake_provider import FakeProvider  # noqa: E402
from tests.host_matrix import browsing, record  # noqa: E402
from tests.host_matrix.hosts import HOSTS, Host  # noqa: E402
from tests.host_project.bare import build  # noqa: E402
from tests.live import Server, free_port  # noqa: E402

ENVIRONMENTS = ROOT / ".venv-hosts"
SCRATCH = ROOT / "build/hosts"
ROBOT = str(ROOT / "tests/host_matrix/robot.py")
ROLES = ("operator", "admin", "member")
# What the others are compared with.
REFERENCE = "django-5.2"
# Whose rows are the project's own: Wagtail makes groups, others have none.
OWN_ROWS = "/auth/group/%(object_id)s/"


def answer(request: Recorded) -> Answer:
    """Call the host's own tool for a question about invoices, and say what it gave; else say something."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return reply(f"They are: {last['content']}")(request)
    if request.json.get("tools") and "invoices" in request.last_text:
        return reply(calls=[("list_invoices", {})])(request)
    return reply("Hello")(request)


def python_of(version: str) -> str:
    """The interpreter of a version: on the PATH, or by pyenv."""
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))
    found = next((str(path) for path in of_pyenv), None) or shutil.which(f"python{version}")
    if found is None:
        raise SystemExit(f"Python {version} is needed, on the PATH or by pyenv.")
    return found


def install(name: str, host: Host, project: Path, wheel: Path, uv: str) -> Path:
    """Return the programs of a host's environment: what its project asks for, and this wheel, resolved together."""
    folder = ENVIRONMENTS / name
    asked = [project / file for file in host.requirements]
    given = [host.python, *host.packages, *(path.read_text() for path in asked), str(wheel.read_bytes())]
    wanted = hashlib.sha256("\n".join(given).encode()).hexdigest()
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        if not folder.exists():
            subprocess.run([uv, "venv", "--quiet", "--python", python_of(host.python), str(folder)], check=True)
        given = [f"tenant-assistant[all,postgres] @ file://{wheel}", "whitenoise", *host.packages]
        given += [word for path in asked for word in ("-r", str(path))]
        install = [uv, "pip", "install", "--quiet", "--python", f"{folder}/bin/python", "--reinstall-package"]
        subprocess.run([*install, "tenant-assistant", *given], check=True, timeout=900)
        stamp.write_text(wanted)
    return folder / "bin"


@contextmanager
def database(name: str, host: Host) -> Iterator[str]:
    """The `DATABASE_URL` of a host that has its database on PostgreSQL, empty at first; else nothing."""
    if not host.needs_postgresql:
        yield ""
        return
    url = urlsplit(os.environ["TEST_DATABASE_URL"])
    made = f"{url.path.strip('/')}_{name}".replace("-", "_")
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {made} WITH (FORCE)")  # type: ignore[arg-type]
        connection.execute(f"CREATE DATABASE {made}")  # type: ignore[arg-type]
        try:
            yield url._replace(path=f"/{made}").geturl()
        finally:
            connection.execute(f"DROP DATABASE IF EXISTS {made} WITH (FORCE)")  # type: ignore[arg-type]


class Visit:
    """One host while it is tried: its folder, and the environment of its commands."""

    def __init__(self, folder: Path, host: Host, programs: Path, provider: FakeProvider, database_url: str) -> None:
        self.folder = folder
        self._host = host
        self._python = str(programs / "python")
        # The robot's own modules, whatever packages the host has.
        beside = SCRATCH / "beside"
        beside.mkdir(exist_ok=True)
        if not (beside / "tests").is_symlink():
            (beside / "tests").symlink_to(ROOT / "tests")
        self.environment = {
            **{one: os.environ[one] for one in ("HOME", "LANG") if one in os.environ},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": f"{beside}:{self.folder}",
            "DJANGO_SETTINGS_MODULE": host.settings,
            "OPENAI_BASE_URL": provider.url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "test-model",
            **({"DATABASE_URL": database_url} if database_url else {}),
        }

    def run(self, *words: str, timeout: float = 600) -> str:
        """Run Python in the host; return what it printed. Raises `RuntimeError` with its last words if it fails."""
        done = subprocess.run(
            [self._python, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=timeout, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)[:60]}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[Server]:
        """Serve the host as the documents say."""
        port = free_port()
        log = self.folder.parent / f"{self.folder.name}.log"
        options = ["--port", str(port), "--http", HTTP_PROTOCOL, "--ws", "websockets-sansio", "--ws-max-size"]
        command = [self._python, "-m", "uvicorn", self._host.application, *options, str(MAX_SERVER_FRAME)]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=file, stderr=subprocess.STDOUT
            )
        server = Server("uvicorn", port, process, log)
        try:
            server.wait_ready("/assistant/healthz")
            yield server
        finally:
            server.stop()

    def versions(self) -> dict[str, str]:
        """The installed versions that matter."""
        wanted = ("django", *self._host.versions)
        script = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {wanted!r}}}))"
        told: dict[str, str] = json.loads(self.run("-c", script))
        return {"python": self._host.python, **told}


def compare(report: Mapping[str, Any], reference: Mapping[str, Any], roles: Sequence[str]) -> list[str]:
    """What a host answers otherwise than the first one does, by address and role."""
    return [
        f"{key}: {statuses} instead of {reference['statuses'][key]}"
        for key, statuses in report["statuses"].items()
        if key in reference["statuses"] and statuses != reference["statuses"][key] and OWN_ROWS not in key
    ] + [
        f"{key}: is missing"
        for key in reference["statuses"]
        if key.split()[0] in roles and key not in report["statuses"]
    ]


# An exception from which the next one followed, whose traceback is below.
_CAUSE = re.compile(
    r"^Traceback(?:(?!^Traceback).)*?^(?:The above exception was|During handling of the above)[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
# What an answer with 403 raises, which some projects log with its traceback.
_REFUSAL = "django.core.exceptions.PermissionDenied"


def failures(log: str) -> Iterator[str]:
    """The exceptions in a server's log, each with the line before it, but for refusals and what is only to debug."""
    said = ""
    is_traceback = False
    for line in _CAUSE.sub("", log).splitlines():
        if re.search(r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b", line):
            said = line
        elif line.startswith("Traceback"):
            is_traceback = "DEBUG" not in said
        elif is_traceback and re.match(r"[\w.]+(:|$)", line):
            is_traceback = False
            if not line.startswith(_REFUSAL):
                yield f"{line} after {said}"


def try_host(name: str, wheel: Path, uv: str, roles: Sequence[str]) -> dict[str, Any]:
    """Make a host and let the robot in; return its report, which is also in `build/hosts/`."""
    host = HOSTS[name]
    began = time.monotonic()
    path = SCRATCH / f"{name}.json"
    with FakeProvider() as provider, database(name, host) as database_url:
        provider.rule(answer)
        project = SCRATCH / name
        shutil.rmtree(project, ignore_errors=True)
        host.make(project, uv)
        visit = Visit(project, host, install(name, host, project, wheel, uv), provider, database_url)
        if host.unmigrated:
            visit.run("-m", "django", "makemigrations", "-v0", *host.unmigrated)
        visit.run("-m", "django", "migrate", "-v0")
        checked = visit.run("-m", "django", "check")
        visit.run(host.people)
        with visit.serving() as server:
            visit.run(ROBOT, "talk", server.url, str(path))
            talked: dict[str, Any] = json.loads(path.read_text())
            looked = browsing.look(server.url, talked, SCRATCH / "pictures" / name)
            for proof in host.proofs:
                visit.run(proof, server.url)
            visit.run(ROBOT, "open", server.url, str(path), *roles, timeout=5400)
            report: dict[str, Any] = json.loads(path.read_text())
        report["broken"] += [*talked["broken"], *looked]
        report["counts"] |= talked["counts"]
        report["broken"] += [f"log: {line}" for line in failures(server.log)]
        report["versions"] = visit.versions()
    if "no issues" not in checked:
        report["broken"].append(f"check: {checked}")
    if name != REFERENCE and (SCRATCH / f"{REFERENCE}.json").exists():
        report["broken"] += compare(report, json.loads((SCRATCH / f"{REFERENCE}.json").read_text()), roles)
    report["seconds"] = round(time.monotonic() - began)
    path.write_text(json.dumps(report, indent=1))
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hosts", nargs="*", help=f"of {', '.join(HOSTS)}; without one, all")
    parser.add_argument("--uv", default=shutil.which("uv") or str(ROOT / ".venv-tools/bin/uv"))
    parser.add_argument("--roles", nargs="+", choices=ROLES, default=ROLES, help="in whose names it is tried")
    parser.add_argument("--wheel", type=Path, help="a release that is there already")
    options = parser.parse_args()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    wheel = options.wheel or build(SCRATCH / "dist")
    failed = []
    for name in options.hosts or HOSTS:
        if HOSTS[name].needs_postgresql and not os.environ.get("TEST_DATABASE_URL"):
            print(f"{name}: left out, set TEST_DATABASE_URL", flush=True)
            continue
        try:
            report = try_host(name, wheel, options.uv, options.roles)
        except (RuntimeError, AssertionError, subprocess.SubprocessError) as exc:
            failed.append(name)
            print(f"{name}: {str(exc)[:700]} … {str(exc)[-1500:]}", flush=True)
            continue
        broken = report["broken"]
        print(f"{name}: {len(broken)} broken, {dict(report['counts'])}, {report['seconds']} s", flush=True)
        print("".join(f"  {line}\n" for line in broken[:40]), end="", flush=True)
        if broken:
            failed.append(name)
        else:
            record.write_down(name, HOSTS[name].title, report, roles=options.roles, order=HOSTS)
    if failed:
        sys.exit(f"Failed: {' '.join(failed)}")


if __name__ == "__main__":
    main()
