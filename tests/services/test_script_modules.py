"""A page names all modules that its script imports, under the addresses that the imports have in the browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.contrib.staticfiles import storage
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage, StaticFilesStorage
from django.core.files.storage import FileSystemStorage
from pytest_django.fixtures import Settings

from assistant.services.script_modules import STATIC, imported, preload_urls

APP = "assistant/js/app.js"
LINKED = re.compile(r'^(?:import|export)\b.*"(\.[^"]+)";', re.MULTILINE)


class HashedImports(ManifestStaticFilesStorage):
    support_js_module_import_aggregation = True


def addresses_in_the_browser(root: Path, entry: str) -> set[str]:
    """Return the addresses of all modules that a browser asks for, following the imports in the collected files."""
    found = [entry]
    for address in found:
        source = (root / address.removeprefix("/static/")).read_text()
        found += {urljoin(address, path) for path in LINKED.findall(source)} - set(found)
    return set(found[1:])


def test_all_levels_of_imports_are_named() -> None:
    names = imported(APP)
    assert len(names) == len(set(names)) > 25
    assert {"assistant/js/chat.js", "assistant/js/draw/emphasis.js", "assistant/js/shared.js"} <= set(names)


def test_what_is_loaded_later_is_not_named() -> None:
    later = {"assistant/js/files.js", "assistant/js/draw/maths.js", "assistant/vendor/temml/temml.js"}
    assert not {APP, *later} & set(imported(APP))


@pytest.mark.parametrize("kind", [StaticFilesStorage, ManifestStaticFilesStorage, HashedImports])
def test_the_addresses_are_those_of_the_imports_in_every_storage(
    kind: type[StaticFilesStorage], settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = kind(location=str(tmp_path), base_url="/static/")
    source = FileSystemStorage(str(STATIC))
    paths = {str(path.relative_to(STATIC)): (source, str(path.relative_to(STATIC))) for path in STATIC.rglob("*.*")}
    for name in paths:
        files.save(name, source.open(name))
    if isinstance(files, ManifestStaticFilesStorage):
        done = list(files.post_process(paths))
        assert not [result for *_, result in done if isinstance(result, Exception)]
    # The storage that templates and the service use is a lazy object of Django's.
    monkeypatch.setattr(storage.staticfiles_storage, "_wrapped", files)
    settings.DEBUG = False
    addresses = preload_urls(APP)
    assert set(addresses) == addresses_in_the_browser(tmp_path, files.url(APP))
    assert len(addresses) == len(imported(APP))
