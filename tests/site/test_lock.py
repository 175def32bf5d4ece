"""The locks fit the dependencies in pyproject.toml for every supported Python, and every entry has a hash.

`make lock` writes them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = ("site", "dev")
LOCKS = {"requirements.txt": ("site",), "requirements-dev.txt": GROUPS}
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
    """Return all entries of a lock. Raises `ValueError` for a line that is not a pin with its hashes."""
    lines = (ROOT / lock).read_text().replace(" \\\n   ", "").splitlines()
    found = []
    for line in lines:
        if line and not line.lstrip().startswith("#"):
            match = _PIN.fullmatch(line)
            if match is None:
                raise ValueError(line)
            found.append(Pin(match["name"], match["version"], match["marker"]))
    return found


def installed(lock: str, python: str) -> dict[str, str]:
    """Return what the lock installs on Linux with a version of Python."""
    machine = {**default_environment(), "python_version": python, "python_full_version": f"{python}.9"}
    chosen = [pin for pin in pins(lock) if pin.marker is None or Marker(pin.marker).evaluate(machine)]
    assert len({pin.name for pin in chosen}) == len(chosen)
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


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_package_index(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert not re.search(r"://|index-url|find-links|trusted-host|@ ", text)
