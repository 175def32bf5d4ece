"""Registries of tools, and their discovery in packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.toolkit import InvalidTool, Registry, Tool, ToolError, UnknownTool
from assistant.toolkit.registry import discover

TOOL = '''
from assistant.toolkit import tool

@tool
def {name}() -> str:
    """Say {name}."""
    return "{name}"
'''


def made(name: str) -> Tool:
    return Tool(name=name, description="X.", parameters={"type": "object"}, handler=lambda: None)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path; its modules are unloaded after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for package in [parent for parent in path.parents if parent != folder and folder in parent.parents]:
            (package / "__init__.py").touch()


def names(*modules: str) -> list[str]:
    return [one.name for one in discover(modules)]


def test_a_registry_keeps_its_order_and_knows_its_names() -> None:
    registry = Registry([made("b"), made("a")])
    assert [one.name for one in registry] == ["b", "a"]
    assert (len(registry), "a" in registry, "c" in registry) == (2, True, False)
    assert [one.name for one in registry.only(["a"])] == ["a"]


def test_the_error_for_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownTool, match=r"'c'.*b, a") as caught:
        Registry([made("b"), made("a")]).get("c")
    assert isinstance(caught.value, ToolError)
    with pytest.raises(UnknownTool):
        Registry([made("b")]).only(["c"])


def test_two_tools_with_one_name_are_refused_with_their_locations() -> None:
    with pytest.raises(InvalidTool, match=r"two tools named 'a'.*test_registry"):
        Registry([made("a"), made("a")])


def test_tests_beside_tools_are_not_imported(packages: Path) -> None:
    broken = "import a_runner_that_is_not_installed"
    write(packages, seats__free=TOOL.format(name="free"), seats__test_free=broken, seats__tests=broken)
    write(packages, seats__conftest=broken)
    assert names("seats") == ["free"]


def test_tools_in_a_list_are_found_too(packages: Path) -> None:
    text = """
from assistant.toolkit import tool, tools_of

class Desk:
    @tool
    def reopen(self) -> str:
        "Reopen."
        return "done"

DESK = tools_of(Desk())
ALL = (*DESK, "no tool")
"""
    write(packages, desk=text)
    assert names("desk") == ["reopen"]


def test_only_tools_can_be_registered() -> None:
    with pytest.raises(InvalidTool, match="not a tool"):
        Registry([print])  # type: ignore[list-item]


def test_tools_are_found_in_modules_and_in_packages_of_any_depth(packages: Path) -> None:
    write(packages, flat__tools=TOOL.format(name="one"), wide__tools__a=TOOL.format(name="two"))
    write(packages, wide__tools__deep__b=TOOL.format(name="three"))
    assert names("flat.tools", "wide.tools") == ["one", "two", "three"]


def test_a_tool_that_is_imported_elsewhere_is_one_tool(packages: Path) -> None:
    write(packages, again__tools__a=TOOL.format(name="one"), again__tools__b="from again.tools.a import one as same")
    assert names("again.tools") == ["one"]


def test_an_app_without_tools_is_fine(packages: Path) -> None:
    write(packages, bare__models="")
    write(packages, single="")
    assert names("bare.tools", "single.tools", "nowhere.tools") == []


@pytest.mark.parametrize("text", ["import not_installed_anywhere", "from broken import missing", "1 / 0"])
def test_an_error_in_a_tools_module_is_raised(packages: Path, text: str) -> None:
    write(packages, broken__tools=text)
    with pytest.raises((ImportError, ZeroDivisionError)):
        names("broken.tools")
