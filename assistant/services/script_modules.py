"""Finds the addresses of all modules that a page's script imports, so that browsers can fetch them at once.

A browser finds the imports of a module only once it has fetched it. On a slow line each level of imports costs a
round trip, unless the page names the modules of all levels (`<link rel="modulepreload">`).
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from urllib.parse import urljoin

from django.contrib.staticfiles.storage import staticfiles_storage
from django.templatetags.static import static

from assistant.optional_apps import installed

STATIC = Path(__file__).resolve().parent.parent / "static"
# Static imports and re-exports, as they begin a line in our modules; `import("./x.js")` is for later.
IMPORT = re.compile(r'^(?:import|export)\b[^;"(]*"(\.[^"]+)";', re.MULTILINE)


@cache
def imported(name: str) -> tuple[str, ...]:
    """Return the names of the static files that a module of ours imports, directly or not, nearest first.

    Args:
        name: of the module's static file, such as "assistant/js/app.js".
    """
    names = [name]
    for importer in names:  # grows
        folder, source = posixpath.dirname(importer), _file_of(importer).read_text(encoding="utf-8")
        found = (posixpath.normpath(posixpath.join(folder, path)) for path in IMPORT.findall(source))
        names += [each for each in dict.fromkeys(found) if each not in names]
    return tuple(names[1:])


def _file_of(name: str) -> Path:
    """Return the file of a module of the core, or of an installed optional app."""
    folders = (STATIC, *(Path(app.path) / "static" for app in installed()))
    return next(folder / name for folder in folders if (folder / name).is_file())


def preload_urls(name: str) -> list[str]:
    """Return the addresses that a module's imports have in the browser, those of imports of imports too.

    A storage that gives files other names leaves the imports in modules as they are, unless it is told to change them
    (Django's `support_js_module_import_aggregation`).
    """
    if getattr(staticfiles_storage, "support_js_module_import_aggregation", False):
        return [static(each) for each in imported(name)]
    address, folder = static(name), posixpath.dirname(name)
    return [urljoin(address, posixpath.relpath(each, folder)) for each in imported(name)]
