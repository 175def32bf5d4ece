"""The locks fit the dependencies in pyproject.toml for every supported Python, and every entry has a hash.

`make lock` writes them. That of an extra has what the extra and the core need, and nothing else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.site.extra_locks import CORE, EXTRAS, FOLDER, NAME, SITE, included

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = ("site", "runserver", "dev")
LOCKS = {"requirements.txt": ("site", "runserver"), "requirements-dev.txt": GROUPS}
PYTHONS = {"3.11": "5.2", "3.12": "6.1", "3.13": "6.1"}
_PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.+!]+)(?: ; (?P<marker>[^\\]+?))?(?: --hash=sha256:\w{64})+")


class Pin(NamedTuple):
    """One version of a package, for environments that match the marker."""

    name: str
    version: str
    marker: str | None


def declared(*groups: str) -> list[Requirement]:
    """Return the dependencies in pyproject.toml: the wheel's, its extras, and these groups of a checkout."""
    project = PROJECT["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    others = [line for line in lines if not line.startswith(f"{project['name']}[")]  # `all` names the others
    return [
        *map(Requirement, others),
        *(Requirement(line) for group in groups for line in PROJECT["dependency-groups"][group]),
    ]


def pins(lock: str) -> list[Pin]:
    """Return all entries of a lock and of those that it includes, each once.

    Raises `ValueError` for a line that is not a pin with its hashes.
    """
    path = ROOT / lock
    lines = path.read_text().replace(" \\\n   ", "").splitlines()
    found = []
    for line in lines:
        if line.startswith("-r "):
            found += pins(str((path.parent / line.removeprefix("-r ")).relative_to(ROOT)))
        elif line and not line.lstrip().startswith("#"):
            match = _PIN.fullmatch(line)
            if match is None:
                raise ValueError(line)
            found.append(Pin(match["name"], match["version"], match["marker"]))
    return list(dict.fromkeys(found))


def installed(lock: str, python: str) -> dict[str, str]:
    """Return what the lock installs on Linux with a version of Python."""
    machine = {**default_environment(), "python_version": python, "python_full_version": f"{python}.9"}
    chosen = [pin for pin in pins(lock) if pin.marker is None or Marker(pin.marker).evaluate(machine)]
    assert len({pin.name for pin in chosen}) == len({(pin.name, pin.version) for pin in chosen})
    return {pin.name: pin.version for pin in chosen}


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_lock_fits_the_declared_dependencies(lock: str, python: str) -> None:
    versions = installed(lock, python)
    wrong = {
        str(requirement): versions.get(canonicalize_name(requirement.name))
        for requirement in declared(*LOCKS[lock])
        if not requirement.specifier.contains(versions.get(canonicalize_name(requirement.name), "0"))
    }
    assert wrong == {}


@pytest.mark.parametrize("python", PYTHONS)
def test_the_version_of_django_depends_on_the_python(python: str) -> None:
    assert installed("requirements.txt", python)["django"].startswith(f"{PYTHONS[python]}.")


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locks_of_tests_and_product_agree(python: str) -> None:
    product, tests = installed("requirements.txt", python), installed("requirements-dev.txt", python)
    assert product.items() <= tests.items()


@pytest.mark.parametrize("lock", [*LOCKS, *(str(path.relative_to(ROOT)) for path in sorted(FOLDER.iterdir()))])
def test_a_lock_names_no_package_index(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert not re.search(r"://|index-url|find-links|trusted-host|@ ", text)


def lock_of(name: str) -> str:
    """The lock of an extra, of the core or of the site, below the checkout."""
    return str((FOLDER / f"{name}.txt").relative_to(ROOT))


def needed(lines: Iterable[str]) -> set[str]:
    """The names of all packages that these dependencies lead to here, by what is installed says of itself."""
    waiting = [(Requirement(line), "") for line in lines]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted, extra = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        for of_it in ("", *wanted.extras):
            key = (canonicalize_name(wanted.name), of_it)
            if key not in seen:
                seen.add(key)
                waiting += [(Requirement(line), of_it) for line in distribution(wanted.name).requires or ()]
    return {name for name, _ in seen}


def asked_for(extra: str) -> Iterator[str]:
    """The dependencies of an extra, without those on other extras of the project, but with theirs."""
    yield from (line for line in EXTRAS[extra] if Requirement(line).name != NAME)
    for other in included(extra):
        yield from asked_for(other)


def test_each_extra_has_a_lock_and_nothing_else_has_one() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {CORE, SITE, *EXTRAS}


@pytest.mark.parametrize("extra", [CORE, SITE, *EXTRAS])
def test_the_lock_of_an_extra_has_what_it_and_the_core_need(extra: str) -> None:
    lines = PROJECT["dependency-groups"][SITE] if extra == SITE else asked_for(extra) if extra in EXTRAS else ()
    python = ".".join(default_environment()["python_version"].split(".")[:2])
    found = installed(lock_of(extra), python)
    assert set(found) == needed([*PROJECT["project"]["dependencies"], *lines])


@pytest.mark.parametrize("extra", [CORE, SITE, *EXTRAS])
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_of_an_extra_has_the_versions_of_the_whole(extra: str, python: str) -> None:
    assert installed(lock_of(extra), python).items() <= installed("requirements.txt", python).items()


def test_a_production_site_holds_no_development_server_and_no_provider() -> None:
    (chosen,) = re.findall(r'^ARG EXTRAS="(.*)"$', (ROOT / "docs/deploy/Dockerfile").read_text(), re.MULTILINE)
    served = {name for extra in chosen.split() for name in installed(lock_of(extra), "3.13")}
    whole = set(installed("requirements.txt", "3.13"))
    assert served < whole
    unwanted = {"daphne", "twisted", "anthropic", "google-genai", "numpy", "onnxruntime", "xllamacpp"}
    assert unwanted <= whole - served
    assert {"uvicorn", "psycopg", "redis", "whitenoise", "django-csp"} <= served
