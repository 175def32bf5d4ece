"""Every static file that a template or a module names is there: a file that was moved is a 404 that no page tells."""

from __future__ import annotations

import re
from pathlib import Path

from django.contrib.staticfiles import finders

ROOT = Path(__file__).parents[2]
# In templates `{% static "name" %}`, in Python and in templates' variables the name as a text.
_NAME = re.compile(r"""["']((?:assistant|admin)/[\w./-]+\.(?:js|css|svg|png|woff2))["']""")


def test_static_files_that_are_named_exist() -> None:
    sources = [
        *ROOT.glob("assistant/**/templates/**/*.html"),
        *ROOT.glob("templates/**/*.html"),
        *ROOT.glob("assistant/**/*.py"),
    ]
    named = {(name, source) for source in sources for name in _NAME.findall(source.read_text())}
    assert len(named) > 20
    absent = sorted(f"{name} in {source.relative_to(ROOT)}" for name, source in named if finders.find(name) is None)
    assert not absent, absent
