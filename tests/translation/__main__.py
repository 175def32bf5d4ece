"""`python -m tests.translation` updates and compiles the catalogues; `check` says what a release waits for."""

from __future__ import annotations

import sys

from tests.translation.catalogues import LANGUAGES, compiled, missing, names_for, path_of, problems, updated
from tests.translation.extraction import templates


def update() -> None:
    """Write all catalogues, and what is made of them."""
    found = templates()
    for language in LANGUAGES:
        for name in names_for(language):
            path = path_of(language, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(updated(language, name, found[name]))
        for path, content in compiled(language).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    print({name: len(catalog) for name, catalog in found.items()})


def check() -> list[str]:
    """Return what is wrong with the catalogues or missing in them, as sentences."""
    found = templates()
    wrong = [
        one
        for language in LANGUAGES
        for name in names_for(language)
        for one in (*problems(language, name), *missing(language, name, found[name]))
    ]
    stale = [
        f"{path}: is not what its catalogues give; run `make messages`"
        for language in LANGUAGES
        for path, content in compiled(language).items()
        if not path.is_file() or path.read_bytes() != content
    ]
    return wrong + stale


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        print("\n".join(found := check()))
        sys.exit(bool(found))
    update()
