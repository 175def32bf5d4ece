"""Rules about the structure of the code that import-linter's contracts in pyproject.toml cannot express."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from django.apps import apps

ROOT = Path(__file__).resolve().parent.parent
MODULES = [
    path
    for package in ("assistant", "tools", "config")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts
]
# Walls, not goals: long before, look for the second subject of a folder or file.
MAX_FILES = 40
MAX_LINES = 500
# What Django, or a project that installs the app, looks for right under `assistant`.
TOP = {
    "__init__", "apps", "checks", "defaults", "environment", "health", "hosting", "operations",
    "optional_apps", "outages", "routing", "setting_text", "staticfiles", "uploads", "urls", "api_urls", "page_urls",
}  # fmt: skip


def test_folders_and_files_are_small() -> None:
    rest = [path for package in ("tests", "benchmarks") for path in (ROOT / package).rglob("*.py")]
    # Benchmarks and clients install what they compare with into folders of their own.
    ours = (path for path in rest if not {".peers", "node_modules"} & set(path.parts))
    folders = Counter(path.parent for path in [*MODULES, *ours])
    assert [folder for folder, files in folders.items() if files > MAX_FILES] == []
    assert [path for path in MODULES if len(path.read_text().splitlines()) > MAX_LINES] == []


def test_the_package_has_only_the_expected_modules_at_its_top() -> None:
    assert {path.stem for path in MODULES if path.parent == ROOT / "assistant"} == TOP


def test_what_the_app_adds_to_other_models_carries_its_name() -> None:
    """A host's own `related_name="memberships"` on its user model must not clash with ours."""
    others = [model for model in apps.get_models() if model._meta.app_label != "assistant"]
    added = [relation for model in others for relation in model._meta.related_objects if not relation.hidden]
    ours = [relation for relation in added if relation.related_model._meta.app_label == "assistant"]
    names = {str(relation.get_accessor_name()) for relation in ours}
    assert "assistant_memberships" in names
    assert sorted(name for name in names if not name.startswith("assistant_")) == []


def test_what_security_names_is_there() -> None:
    """Among these tests, which run before each landing, since files move more often than SECURITY.md is read."""
    text = (ROOT / "SECURITY.md").read_text()
    for name in sorted(set(re.findall(r"`((?:tests|benchmarks|docs)/[^`]*)`", text))):
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not function or re.search(rf"^(async )?def {function}\(", (ROOT / path).read_text(), re.MULTILINE), name
