"""Checks the source code against the repository's own rules about isolation and secrets."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

MANAGERS = {"objects", "_default_manager", "_base_manager"}
RAW_SQL = {"raw", "extra", "RawSQL", "execute", "executemany"}
TRUSTED_HTML = {"mark_safe", "SafeString", "SafeText"}
LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}
# Names that must not be logged, as the last part of an expression: `key.run_id` is allowed.
SECRET = re.compile(
    r"(^|_)(api_key|key|keys|secret|secrets|password|passwords|token|authorization|cookie|cookies|headers|credentials"
    r"|bearer|prompt|system_prompt|content|arguments|environ)$"
)
UNSAFE_TEMPLATE = re.compile(r"\|\s*(safe|safeseq)\b|{%\s*autoescape\s+off")


@dataclass(frozen=True, slots=True)
class Finding:
    """A breach of `rule` in `place`: a file, and the function or class in it."""

    rule: str
    place: str
    line: int

    def __str__(self) -> str:
        return f"{self.rule} at {self.place}:{self.line}"


def findings(source: str, path: str, tenants_models: Collection[str]) -> Iterator[Finding]:
    """Return the breaches in one module; `tenants_models` are the names of models whose rows belong to tenants."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    models = _models(tree, tenants_models)
    rules: dict[str, Callable[[ast.AST], bool]] = {
        "a query without its tenant": lambda node: (
            _is_query(node, models) and "tenant" not in ast.unparse(_statement(node, parents))
        ),
        "SQL by hand": lambda node: isinstance(node, ast.Call) and _called(node) in RAW_SQL,
        "trusted HTML": lambda node: isinstance(node, ast.Call) and _called(node) in TRUSTED_HTML,
        "csrf_exempt": _is_csrf_exempt,
        "a secret in a log call": _logs_a_secret,
    }
    for node in ast.walk(tree):
        for rule, is_broken in rules.items():
            if is_broken(node):
                yield Finding(rule, f"{path}:{_owner(node, parents)}", getattr(node, "lineno", 0))


def template_findings(text: str, path: str) -> Iterator[Finding]:
    """Return the places where a template marks HTML as safe."""
    for match in UNSAFE_TEMPLATE.finditer(text):
        yield Finding("trusted HTML", path, text.count("\n", 0, match.start()) + 1)


def _models(tree: ast.Module, names: Collection[str]) -> set[str]:
    """Return the models' names in this module, which `import Message as MessageRow` changes."""
    aliases = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname and alias.name in names
    }
    return {*names, *aliases}


def _is_query(node: ast.AST, models: Collection[str]) -> bool:
    if not (isinstance(node, ast.Attribute) and node.attr in MANAGERS):
        return False
    # A model that is known only at run time may be any of them.
    return not isinstance(node.value, ast.Name) or node.value.id in models or node.value.id.islower()


def _statement(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return the statement that contains a query, without the blocks of a compound statement."""
    inner = node
    while not isinstance(node, ast.stmt):
        inner, node = node, parents[node]
    return inner if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.AsyncFor) else node


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_csrf_exempt(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Name | ast.Attribute) and getattr(node, "id", getattr(node, "attr", "")) == "csrf_exempt"
    )


def _logs_a_secret(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    is_logger = (
        isinstance(function, ast.Attribute)
        and function.attr in LOGGING
        and "log" in ast.unparse(function.value).lower()
    )
    is_operation_log = isinstance(function, ast.Name) and function.id == "log_operation"
    if not (is_logger or is_operation_log):
        return False
    told = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(_names_a_secret(part) for one in told for part in _parts(one))


def _parts(told: ast.AST) -> Iterator[ast.AST]:
    """Return the parts of an argument that end up in the text: itself, parts of f-strings, `%` and calls; no `x.key` of
    `x.key.run_id`."""
    yield told
    if not isinstance(told, ast.Attribute | ast.Name | ast.expr_context):
        for child in ast.iter_child_nodes(told):
            yield from _parts(child)


def _names_a_secret(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return bool(SECRET.search(str(node.slice.value).lower()))
    return isinstance(node, ast.Name | ast.Attribute) and bool(
        SECRET.search((node.id if isinstance(node, ast.Name) else node.attr).lower())
    )


def _owner(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    names: list[str] = []
    inside: ast.AST | None = node
    while inside is not None:
        if isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.insert(0, inside.name)
        inside = parents.get(inside)
    return ".".join(names)


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Return the product's modules, except migrations, by their path in the repository."""
    for package in ("assistant", "tools", "config"):
        for path in sorted((root / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(root).as_posix(), path
