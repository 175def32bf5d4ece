"""Finds out which parts of its context a tool reads, from the source of its function, for pages about the tool."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from assistant.toolkit.definition.tool import Tool

# It may read anything: the whole context is given to something that the source does not show.
WHOLE = "*"
# Methods of the context that give nothing to the tool.
_NOT_READ = frozenset({"mark_untrusted", "report_progress"})
# How many functions are followed, each called with the context by the one before.
_MAX_DEPTH = 4


def context_keys(tool: Tool) -> list[str]:
    """Return what a tool reads of its context: "tenant.pk", "user.username", "secret token", "extra end_user", ...

    Keys of `extra` that the tool cannot do without come first. `WHOLE` is among them if it may read anything. Functions
    of the tool's module that get the context are followed. Nothing is called or imported.
    """
    needed = [f"extra {name}" for name in tool.needs_context]
    contexts = tool.signature.contexts if tool.signature is not None else ()
    found = set() if tool.handler is None else set(_read(tool.handler, contexts, 0))
    return list(dict.fromkeys([*needed, *sorted(found)]))


def _read(function: Callable[..., Any], contexts: tuple[str, ...], depth: int) -> Iterator[str]:
    if not contexts:
        return
    plain = inspect.unwrap(function)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    except (OSError, TypeError, SyntaxError):
        yield WHOLE
        return
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    names = getattr(plain, "__globals__", {})
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id not in contexts:
            continue
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute):
            if parent.attr not in _NOT_READ:
                yield _key(parent, parents)
        elif (callee := _callee(node, parent, parents, names)) is not None and depth < _MAX_DEPTH:
            yield from _read(*callee, depth + 1)
        else:
            yield WHOLE


def _callee(
    node: ast.Name, parent: ast.AST | None, parents: dict[ast.AST, ast.AST], names: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[str, ...]] | None:
    """Return the function of the same module that gets the context, and the name of its parameter."""
    call = parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    function = names.get(call.func.id)
    if not isinstance(function, FunctionType):
        return None
    if isinstance(parent, ast.keyword):
        return (function, (parent.arg,)) if parent.arg else None
    place = next((index for index, one in enumerate(call.args) if one is node), -1)
    parameters = list(inspect.signature(function).parameters)
    return (function, (parameters[place],)) if 0 <= place < len(parameters) else None


def _key(attribute: ast.Attribute, parents: dict[ast.AST, ast.AST]) -> str:
    """Return what is read of the context: one attribute, and one step into it."""
    user = parents.get(attribute)
    if isinstance(user, ast.Call) and user.func is attribute and attribute.attr == "secret":
        return f"secret {_literal(user.args[0])}" if user.args else "secret"
    if attribute.attr == "extra":
        return _extra(user, parents)
    if isinstance(user, ast.Attribute):
        return f"{attribute.attr}.{user.attr}"
    return attribute.attr


def _extra(user: ast.AST | None, parents: dict[ast.AST, ast.AST]) -> str:
    if isinstance(user, ast.Subscript):
        return f"extra {_literal(user.slice)}"
    call = parents.get(user) if isinstance(user, ast.Attribute) and user.attr == "get" else None
    return f"extra {_literal(call.args[0])}" if isinstance(call, ast.Call) and call.args else "extra"


def _literal(node: Any) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else WHOLE
