"""What the assistant has put into a project, and how it is taken out again: tables, files and lines of settings."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from django.apps import apps
from django.conf import ENVIRONMENT_VARIABLE, settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor

from assistant.optional_apps import installed, labels, own_models

# What `assistant_init` writes above its lines.
_PROPOSED = re.compile(r"^# Written by `manage\.py assistant_init`.*\n", re.MULTILINE)


@dataclass(frozen=True)
class EditedFile:
    """One of the project's files that sets the assistant up.

    Attributes:
        after: its text without the lines that can be taken out by rule.
        rest: the numbers of lines in `after` that still name the assistant.
    """

    path: Path
    before: str
    after: str
    rest: tuple[int, ...]


def tables() -> Counter[str]:
    """Return the assistant's tables that exist, and the number of rows of each, of all tenants."""
    present = set(connection.introspection.table_names())
    managed = [model for model in own_models() if model._meta.db_table in present]
    return Counter({model._meta.db_table: model._base_manager.count() for model in managed})


def stored_files() -> list[tuple[models.FileField, str]]:
    """Return the files that rows have stored, with the field of each."""
    present = set(connection.introspection.table_names())
    return [
        (field, name)
        for model in own_models()
        if model._meta.db_table in present
        for field in model._meta.concrete_fields
        if isinstance(field, models.FileField)
        for name in model._base_manager.exclude(**{field.name: ""}).values_list(field.name, flat=True)
    ]


def collected_files() -> Path | None:
    """Return the folder into which `collectstatic` has copied our files; None if there is none."""
    folder = Path(settings.STATIC_ROOT or "", "assistant")
    return folder if settings.STATIC_ROOT and folder.is_dir() else None


def foreign_migrations() -> list[str]:
    """Return the project's applied migrations that build on ours, and would be taken back with them."""
    executor = MigrationExecutor(connection)
    applied = executor.loader.applied_migrations
    ours = labels()
    nodes = [(label, None) for label in ours if label in executor.loader.migrated_apps]
    plan = executor.migration_plan(nodes)
    return sorted(
        f"{one.app_label}.{one.name}"
        for one, is_backwards in plan
        if is_backwards and one.app_label not in ours and (one.app_label, one.name) in applied
    )


def project_files() -> list[EditedFile]:
    """Return the files of settings, addresses and the ASGI application that name the assistant."""
    module = os.environ[ENVIRONMENT_VARIABLE]
    names = {module, settings.ROOT_URLCONF}
    for setting in ("ASGI_APPLICATION", "WSGI_APPLICATION"):
        names.add((getattr(settings, setting, None) or "").rpartition(".")[0])
    # Where `startproject` puts it; Django itself has no need of the setting.
    names.add(f"{module.rpartition('.')[0]}.asgi".removeprefix("."))
    paths = {Path(found.origin) for name in names if name and (found := _spec_of(name)) and found.origin}
    # Settings are often several modules of one folder, of which one imports the others.
    paths |= {path for one in paths if one.stem != "__init__" for path in one.parent.glob("*.py")}
    edited = (_edited(path) for path in sorted(paths))
    return [one for one in edited if one.after != one.before or one.rest]


def importing_modules(edited: Collection[Path]) -> list[Path]:
    """Return the other modules of the project's apps that import the assistant, such as those with tools."""
    ours = labels()
    folders = {Path(one.path) for one in apps.get_app_configs() if one.label not in ours}
    files = {path for one in folders if "site-packages" not in one.parts for path in one.rglob("*.py")}
    return sorted(path for path in files - {*edited} if _imports_it(path.read_text(errors="replace")))


def _imports_it(source: str) -> bool:
    try:
        return "assistant" in source and bool(_imported(ast.parse(source)))
    except SyntaxError:  # such as a template of a module
        return False


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def _edited(path: Path) -> EditedFile:
    before = path.read_text()
    after = without_assistant(before)
    tree = ast.parse(after)
    bound = _imported(ast.parse(before))
    lines = {node.lineno for node in _naming(tree)}
    lines |= {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in bound}
    lines |= {node.lineno for node in _listed_apps(tree)}
    return EditedFile(path, before, after, tuple(sorted(lines)))


def _imported(tree: ast.AST) -> set[str]:
    """Return the names that a module gets from the assistant."""
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if _is_ours((node.module or "") if isinstance(node, ast.ImportFrom) else alias.name)
    }


def remove_data() -> None:
    """Delete the tables, what Django has noted of them, and the stored and the collected files.

    Raises:
        ValueError: migrations of the project's own build on ours.
    """
    if foreign := foreign_migrations():
        raise ValueError(f"These migrations of yours build on the assistant's: {', '.join(foreign)}.")
    # What is deleted last is what nothing brings back: a role that may not change the tables loses no file.
    files = stored_files()
    for app in installed():
        if app.has("deployment"):
            import_module(f"{app.name}.deployment").take_out()
    _empty_tables()
    for label in sorted(labels(), key=lambda one: one == "assistant"):
        if MigrationExecutor(connection).loader.graph.leaf_nodes(label):
            call_command("migrate", label, "zero", verbosity=0)
    types = apps.get_model("contenttypes.ContentType").objects.filter(app_label__in=labels())
    if apps.is_installed("django.contrib.admin"):
        apps.get_model("admin.LogEntry").objects.filter(content_type__in=types).delete()
    types.delete()
    for field, name in files:
        field.storage.delete(name)
    if (folder := collected_files()) is not None:
        shutil.rmtree(folder)


def _empty_tables() -> None:
    """Delete all rows, since a migration that is taken back may ask of rows what later ones do not keep.

    On PostgreSQL only the tables' owner may do this, who alone may also drop them.
    """
    present = set(connection.introspection.table_names())
    labels_here = labels()
    models_here = (one for one in apps.get_models(include_auto_created=True) if one._meta.app_label in labels_here)
    names = sorted({one._meta.db_table for one in models_here} & present)
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), names))


def without_assistant(source: str) -> str:
    """Return the text of a Python file without the assistant.

    Taken out are elements of lists that name it, what is imported from it, its settings (`ASSISTANT_...`), and its
    wrapper around the ASGI application. What else names it stays, and all of it in a file that would not be Python
    without it.
    """
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    done = 0
    pieces = []
    for start, end, replacement in sorted(_Edits(text, starts, tree).found(), key=lambda edit: (edit[0], -edit[1])):
        if start >= done:  # else it lies within another
            pieces += [text[done:start], replacement]
            done = end
    text = b"".join((*pieces, text[done:]))
    after = _PROPOSED.sub("", text.decode())
    try:
        ast.parse(after)
    except SyntaxError:  # such as a block whose only statement it was
        return source
    return after


Edit = tuple[int, int, bytes]


class _Edits:
    """The edits that take the assistant out of a module, as places in its bytes and what stands there instead."""

    def __init__(self, text: bytes, starts: Sequence[int], tree: ast.Module) -> None:
        self._text = text
        self._starts = starts
        self._tree = tree

    def found(self) -> Iterator[Edit]:
        for node in ast.walk(self._tree):
            for body in (getattr(node, name, None) for name in ("body", "orelse")):
                if isinstance(body, list):
                    for statement in body:
                        yield from self._of_statement(statement)

    def _of_statement(self, statement: ast.stmt) -> Iterator[Edit]:
        match statement:
            case ast.ImportFrom(module=str(module)) if _is_ours(module):
                yield from self._whole(statement)
            case ast.Import(names=names) if all(_is_ours(one.name) for one in names):
                yield from self._whole(statement)
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("ASSISTANT_"):
                yield from self._whole(statement)
            case ast.Assign(value=ast.Constant(value=str(value))) if _is_ours(value) and value != "assistant":
                yield from self._whole(statement)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="with_assistant"), args=[wrapped, *_]) as call,
            ):
                if isinstance(wrapped, ast.Name) and wrapped.id == name:
                    yield from self._whole(statement)
                else:
                    yield (*self._place(call), self._source(wrapped))
            case ast.AugAssign(target=target, value=value) if (elements := _elements(value)) and all(
                _is_alone_ours(one, _lists_apps(target)) for one in elements
            ):
                yield from self._whole(statement)
            case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                # Elements of a tuple within something else are one thing, such as the value and name of a choice.
                of_apps = _lists_apps(target)
                for node in ast.walk(value):
                    if node is value or not isinstance(node, ast.Tuple):
                        yield from self._of_elements(_elements(node), of_apps)

    def _is_alone(self, statement: ast.stmt) -> bool:
        """Return whether its lines hold no other statement."""
        assert statement.end_lineno is not None and statement.end_col_offset is not None  # noqa: S101  # nosec B101
        first = self._starts[statement.lineno - 1]
        last = self._starts[statement.end_lineno - 1] + statement.end_col_offset
        before = self._text[first : first + statement.col_offset]
        after = self._text[last : self._starts[statement.end_lineno]]
        return not before.strip() and not after.lstrip().startswith(b";")

    def _of_elements(self, elements: Sequence[ast.expr], of_apps: bool) -> Iterator[Edit]:
        ours = [_is_alone_ours(one, of_apps) for one in elements]
        place = 0
        for is_ours, run in groupby(ours):
            first = place
            place += len(list(run))
            if not is_ours:
                continue
            start = self._place(elements[first])[0]
            end = self._place(elements[place - 1])[1]
            if place < len(elements):
                yield start, self._place(elements[place])[0], b""
            elif first:
                yield self._place(elements[first - 1])[1], end, b""
            else:
                comma = re.compile(rb"\s*,").match(self._text, end)
                yield start, comma.end() if comma else end, b""

    def _whole(self, statement: ast.stmt) -> Iterator[Edit]:
        """The lines of a statement, with the blank ones before it if a blank one or nothing follows.

        Nothing if another statement is on one of the lines.
        """
        if not self._is_alone(statement):
            return
        assert statement.end_lineno is not None  # noqa: S101 - parsed from text  # nosec B101
        end = self._starts[statement.end_lineno]
        line = statement.lineno - 1
        if not self._text[end:].partition(b"\n")[0].strip():
            while line and not self._text[self._starts[line - 1] : self._starts[line]].strip():
                line -= 1
        yield self._starts[line], end, b""

    def _place(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: S101 - parsed  # nosec B101
        first = self._starts[node.lineno - 1] + node.col_offset
        return first, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _source(self, node: ast.expr) -> bytes:
        start, end = self._place(node)
        return self._text[start:end]


def _elements(node: ast.AST) -> Sequence[ast.expr]:
    """Return what a list, a tuple or a call of `i18n_patterns` is made of."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return elements
        case ast.Call(func=ast.Name(id="i18n_patterns"), args=elements):
            return elements
    return ()


def _lists_apps(target: ast.expr) -> bool:
    """Return whether a setting lists apps, in which "assistant" is the assistant and no word of the project's."""
    return isinstance(target, ast.Name) and target.id.endswith("APPS")


def _is_alone_ours(node: ast.expr, of_apps: bool) -> bool:
    """Return whether an element of a list is there for the assistant, and for nothing of the project's besides."""
    match node:
        case ast.Constant(value=str(value)):
            return _is_ours(value) and (of_apps or value != "assistant")
        case ast.Starred(value=value):
            elements = _elements(value)
            return bool(elements) and all(_is_alone_ours(one, of_apps) for one in elements)
        case ast.Call():
            # A list within it, such as that of an `include`, may hold the project's own too.
            within = [one for inner in ast.walk(node) if isinstance(inner, ast.List) for one in inner.elts]
            return _names_it(node) and all(map(_names_it, within))
    # A dictionary with such an element has a list of its own.
    return False


def _is_ours(name: str) -> bool:
    return name == "assistant" or name.startswith(("assistant.", "assistant:"))


def _naming(tree: ast.AST) -> Iterator[ast.Constant | ast.ImportFrom | ast.Import | ast.Name]:
    """Yield what in a tree names the assistant, but for its name alone."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(value)) if _is_ours(value) and value != "assistant":
                yield node
            case ast.ImportFrom(module=str(module)) if _is_ours(module):
                yield node
            case ast.Import(names=names) if any(_is_ours(one.name) for one in names):
                yield node
            case ast.Name(id=name) if name.startswith("ASSISTANT_") or name == "with_assistant":
                yield node


def _listed_apps(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the assistant's own name in statements about lists of apps; elsewhere it may be a word of the project's."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
            within = list(ast.walk(statement))
            if any(isinstance(node, ast.expr) and _lists_apps(node) for node in within):
                yield from (node for node in within if isinstance(node, ast.Constant) and node.value == "assistant")


def _names_it(node: ast.AST) -> bool:
    return any(_naming(node))
