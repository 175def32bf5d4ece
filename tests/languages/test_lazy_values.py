"""Values with a text that is translated when it is shown."""

from __future__ import annotations

import ast

import pytest
from django.conf import settings
from django.utils.translation import override

from assistant.contrib.panel.admin.assistants import assistant_pages
from assistant.contrib.panel.admin.tenants import tenant_pages


def _keywords(decorator: ast.expr) -> set[str]:
    """The options of `@dataclass(...)` that are on, and those that are off with a minus."""
    if not isinstance(decorator, ast.Call) or getattr(decorator.func, "id", "") != "dataclass":
        return set()
    return {f"{'' if getattr(one.value, 'value', None) else '-'}{one.arg}" for one in decorator.keywords}


def test_no_value_is_found_by_a_text_that_differs_by_language() -> None:
    """The text of a lazy translation is its hash too, so such a value is not found among keys in another language."""
    wrong = []
    for path in sorted((settings.BASE_DIR / "assistant").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any("frozen" in _keywords(one) for one in node.decorator_list):
                fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
                is_lazy = any("Promise" in ast.unparse(one.annotation) for one in fields)
                if is_lazy and not any("-eq" in _keywords(one) for one in node.decorator_list):
                    wrong.append(f"{path.name}: {node.name}")
    assert wrong == []


@pytest.mark.parametrize("pages", [assistant_pages.PAGES, tenant_pages.PAGES])
def test_the_page_of_every_tab_is_found_in_each_language(pages: dict[object, object]) -> None:
    for tab in pages:
        for language, _ in settings.LANGUAGES:
            with override(language):
                assert tab in pages
