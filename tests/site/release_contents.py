"""What a built release holds: all that the wheel is made of and nothing else, as it is in the checkout.

`make release` runs it with the folder of the files, `make publish` with `--tagged` too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = _CONFIGURATION["project"]
_TARGETS = _CONFIGURATION["tool"]["hatch"]["build"]["targets"]
STEM = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}"
# What builders add to the files of the checkout.
_ADDED_TO_SDIST = {"PKG-INFO", "pyproject.toml", ".gitignore"}


def _tracked() -> list[str]:
    """Return the files of the checkout that git knows or would add, without those that are deleted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def expected_sdist() -> dict[str, str]:
    """Return the files that the source distribution should have, each with its file of the checkout."""
    chosen = tuple(name.strip("/") for name in _TARGETS["sdist"]["include"])
    return {name: name for name in _tracked() if name in chosen or name.startswith(tuple(f"{one}/" for one in chosen))}


def expected_wheel() -> dict[str, str]:
    """Return the files that the wheel should have, each with its file of the checkout."""
    packages = tuple(f"{name}/" for name in _TARGETS["wheel"]["packages"])
    tracked = _tracked()
    found = {name: name for name in tracked if name.startswith(packages)}
    for source, target in _TARGETS["wheel"]["force-include"].items():
        found |= {target + name.removeprefix(source): name for name in tracked if f"{name}/".startswith(f"{source}/")}
    return found


def problems(folder: Path) -> Iterator[str]:
    """Tell what is wrong with the release in a folder: a sentence for each fault."""
    wheel = folder / f"{STEM}-py3-none-any.whl"
    sdist = folder / f"{STEM}.tar.gz"
    missing = [path.name for path in (wheel, sdist) if not path.is_file()]
    if missing:
        yield f"There is no {', no '.join(missing)} in {folder.name}/."
        return
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    information = {name: files.pop(name) for name in [*files] if name.startswith(f"{STEM}.dist-info/")}
    yield from _compared("The wheel", files, expected_wheel())
    yield from _metadata({name.partition("/")[2]: content for name, content in information.items()})
    with tarfile.open(sdist) as packed:
        names = [member for member in packed.getmembers() if member.isfile()]
        unpacked = {one.name.removeprefix(f"{STEM}/"): packed.extractfile(one) for one in names}
        sources = {name: stream.read() for name, stream in unpacked.items() if stream and name not in _ADDED_TO_SDIST}
    yield from _compared("The source distribution", sources, expected_sdist())


def _compared(what: str, files: Mapping[str, bytes], expected: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(expected.keys() - files):
        yield f"{what} lacks {name}."
    for name in sorted(files.keys() - expected.keys()):
        yield f"{what} has {name}, which is no file of the checkout that belongs there."
    for name in sorted(files.keys() & expected.keys()):
        if files[name] != (ROOT / expected[name]).read_bytes():
            yield f"{what} has another {name} than the checkout."


def _metadata(information: Mapping[str, bytes]) -> Iterator[str]:
    said = Parser().parsestr(information["METADATA"].decode())
    if (said["Name"], said["Version"]) != (PROJECT["name"], PROJECT["version"]):
        yield f"The metadata is of {said['Name']} {said['Version']}."
    if set(said.get_all("Provides-Extra", [])) != set(PROJECT["optional-dependencies"]):
        yield "The metadata has other extras than pyproject.toml."
    for line in said.get_all("Requires-Dist", []):
        if "@" in line:
            yield f"The metadata asks for an address: {line}"
    if "licenses/LICENSE" not in information:
        yield "The wheel has no licence."
    script = next(iter(PROJECT["scripts"].items()))
    if " = ".join(script) not in information["entry_points.txt"].decode():
        yield f"The wheel has no script {script[0]}."


def untagged() -> Iterator[str]:
    """Tell why what is built from this checkout is not the release of a tag."""
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    if changed:
        yield "The checkout has changes that are not committed."
    tags = subprocess.run(
        ["git", "tag", "--points-at", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    if f"v{PROJECT['version']}" not in tags:
        yield f"The commit has no tag v{PROJECT['version']}."


def main() -> int:
    """Print what is wrong, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tagged", action="store_true", help="the commit must have the tag of its version")
    options = parser.parse_args()
    found = [*problems(options.folder), *(untagged() if options.tagged else ())]
    print("\n".join(found) or f"{len(expected_wheel())} files in the wheel, as in the checkout")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
