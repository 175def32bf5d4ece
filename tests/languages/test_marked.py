"""Texts of the control panel are marked for translation: in templates, in calls, and as the names of what it shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field, Model
from django.utils.functional import Promise

from assistant import optional_apps
from assistant.admin.base.merging import SHOWN
from assistant.contrib.branding.bundle_parts import BrandPart
from assistant.contrib.branding.models import Brand
from assistant.contrib.bundles.services import format as bundles
from assistant.contrib.mcp_servers.bundle_parts import ServerPart
from assistant.contrib.mcp_servers.models import McpServer
from assistant.models import Assistant, Tenant, TenantLimits, ToolSetting
from tests.translation.extraction import ROOT

TEMPLATES = sorted(
    path for folder in ("templates", "assistant/contrib") for path in (ROOT / folder).rglob("admin/**/*.html")
)
MODULES = sorted(path for room in ("admin", "models") for path in (ROOT / "assistant").rglob(f"{room}/**/*.py"))
WORDS = re.compile(r"[A-Za-z]{2}")
# The models whose fields an imported bundle sets.
BUNDLED: tuple[tuple[type[Model], type[bundles.Part]], ...] = (
    (Tenant, bundles.SettingsPart),
    (TenantLimits, bundles.LimitsPart),
    (Brand, BrandPart),
    (McpServer, ServerPart),
    (ToolSetting, bundles.ToolPart),
    (Assistant, bundles.AssistantPart),
)
# Units and abbreviations that are the same in all languages.
SAME = {"UTC", "ms", "CSV"}
# Blocks that hold no text for people.
_NO_TEXT = re.compile(r"{% block (?:bodyclass|coltype|extrahead|extrastyle) %}.*?{% endblock %}", re.DOTALL)
_COMMENT = re.compile(r"{%\s*comment\b.*?{%\s*endcomment\s*%}", re.DOTALL)
_MARKED = re.compile(r"{%\s*blocktrans(?:late)?\b.*?{%\s*endblocktrans(?:late)?\s*%}", re.DOTALL)
_TAGS = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL)


class _Texts(HTMLParser):
    """Collects what people read: text, and attributes that are shown or read aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_code = tag in ("script", "style")
        shown = ("aria-label", "title", "placeholder", "alt")
        self.found += [value for name, value in attrs if name in shown and value]

    def handle_endtag(self, tag: str) -> None:
        self._is_code = False

    def handle_data(self, data: str) -> None:
        if not self._is_code:
            self.found.append(data)


def unmarked_in(template: str) -> list[str]:
    """Return the words of a template that no translation reaches."""
    parser = _Texts()
    for left_out in (_COMMENT, _NO_TEXT, _MARKED, _TAGS):
        template = left_out.sub(" ", template)
    parser.feed(template)
    texts = (" ".join(text.split()) for text in parser.found)
    return [text for text in texts if set(re.findall(r"[A-Za-z]{2,}", text)) - SAME]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_templates_have_no_unmarked_text(path: Path) -> None:
    assert unmarked_in(path.read_text()) == []


def test_an_unmarked_text_of_a_template_is_found() -> None:
    assert unmarked_in('<h2>{% translate "Spend" %}</h2><p>By tenant {{ name }}</p>') == ["By tenant"]
    assert unmarked_in('<a title="Open it" href="/x">{{ name }}</a>') == ["Open it"]
    assert unmarked_in("{% blocktranslate %}Only {{ name }}.{% endblocktranslate %} UTC") == []


# Arguments that are texts for people, of fields, columns, actions, messages and errors.
_KEYWORDS = {"verbose_name", "verbose_name_plural", "help_text", "label", "description", "title", "empty_label"}
_LAST = {"message_user", "add_error", "success", "error", "warning", "info"}


def unmarked_calls(source: str) -> list[str]:
    """Return the texts for people in a module that are plain strings."""
    found: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            found += [word.value for word in node.keywords if word.arg in _KEYWORDS]
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found += node.args[1:2] if name in _LAST else node.args[:1] if name == "ValidationError" else []
        elif isinstance(node, ast.Assign):
            if {getattr(target, "id", "") for target in node.targets} & _KEYWORDS:
                found.append(node.value)
        elif isinstance(node, ast.ClassDef) and "Choices" in ast.unparse(node.bases[0] if node.bases else node):
            pairs = [one.value for one in node.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Tuple)]
            found += [pair.elts[1] for pair in pairs if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
    return [text for text in _strings(found) if WORDS.search(text)]


def fields_without_label(source: str) -> list[str]:
    """Return the fields of forms in a module whose label Django would make of their names."""
    found = []
    for form in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
        for node in (node for node in form.body if isinstance(node, ast.Assign | ast.AnnAssign)):
            call = node.value
            if isinstance(call, ast.Call) and re.fullmatch(r"forms\.\w*Field", ast.unparse(call.func)):
                is_shown = "HiddenInput" not in ast.unparse(call)
                if is_shown and "label" not in {word.arg for word in call.keywords}:
                    found.append(ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0]))
    return found


def _strings(nodes: Iterable[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.IfExp):
            yield from _strings([node.body, node.orelse])
        elif isinstance(node, ast.Dict):
            yield from _strings(node.values)
        elif isinstance(node, ast.JoinedStr):
            yield from _strings(part for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT / "assistant").as_posix())
def test_modules_have_no_unmarked_text(path: Path) -> None:
    assert unmarked_calls(path.read_text()) == []
    assert fields_without_label(path.read_text()) == []


def test_an_unmarked_text_of_a_module_is_found() -> None:
    assert unmarked_calls('a = CharField(_("name"), help_text="Of one line.")') == ["Of one line."]
    assert unmarked_calls('self.message_user(request, f"{count} are deleted.", messages.SUCCESS)') == [" are deleted."]
    assert unmarked_calls('raise ValidationError({"name": "Too long."})') == ["Too long."]
    assert unmarked_calls('class State(models.TextChoices):\n    ON = "on", "Switched on"') == ["Switched on"]
    assert unmarked_calls('form.add_error("name", _("Too long."))') == []
    form = "class A(Form):\n    a = forms.CharField()\n    b = forms.CharField(label=_('B'))"
    assert fields_without_label(form) == ["a"]


def test_the_models_of_the_panel_have_names_that_are_translated() -> None:
    pages = admin.site._registry.items()
    shown = {model for model, _ in pages} | {inline.model for _, page in pages for inline in page.inlines}
    own = [model._meta for model in shown if model._meta.app_label in optional_apps.labels()]
    assert [names.label for names in own if type(names.verbose_name_plural) is str] == []


def shown_fields() -> Iterator[Field[Any, Any]]:
    """Yield the fields that a list or page of a model of ours shows."""
    for model, page in admin.site._registry.items():
        if model._meta.app_label in optional_apps.labels():
            own: Any = page
            listed = [one[0] if isinstance(one, tuple) else one for one in own.list_filter]
            names = {*own.list_display, *own.readonly_fields, *listed, *flatten_fieldsets(own.fieldsets or ())}
            yield from _fields(
                model, names | set(own.fields or () if own.fieldsets else own.fields or _all(model, own))
            )
            for inline in own.inlines:
                yield from _fields(inline.model, set(inline.fields or _all(inline.model, inline)))
    # What an imported bundle changes is shown field by field.
    for model, part in BUNDLED:
        yield from _fields(model, part.model_fields)


def _all(model: type[Model], page: Any) -> list[str]:
    is_form = page.form.base_fields.keys() - {SHOWN}
    return [
        one.name
        for one in (*model._meta.fields, *model._meta.many_to_many)
        if one.name not in {"id", *(page.exclude or ())} and (one.editable or not is_form)
    ]


def _fields(model: type[Model], names: Iterable[Any]) -> Iterator[Field[Any, Any]]:
    for name in names:
        try:
            field = model._meta.get_field(name if isinstance(name, str) else "")
        except FieldDoesNotExist:
            continue
        if isinstance(field, Field):
            yield field


def test_the_names_of_shown_models_and_fields_can_be_translated() -> None:
    models = {model for model in admin.site._registry if model._meta.app_label in optional_apps.labels()}
    names = [(str(one), one._meta.verbose_name, one._meta.verbose_name_plural) for one in models]
    assert [name for name, *both in names if not all(isinstance(one, Promise) for one in both)] == []
    assert sorted({str(field) for field in shown_fields() if not isinstance(field.verbose_name, Promise)}) == []


def test_the_names_of_all_tables_of_the_core_can_be_translated() -> None:
    # The pages that erase a tenant or a person name the rows of every model.
    models = [model._meta for model in apps.get_app_config("assistant").get_models()]
    plain = {one.model_name for one in models if not isinstance(one.verbose_name_plural, Promise)}
    assert plain <= {"erasedtenant", "signincount", "toolblock"}


def test_the_texts_of_shown_fields_can_be_translated() -> None:
    # Names of products are the same in all languages.
    products = {"wire_format", "kind"}
    for field in shown_fields():
        assert not field.help_text or isinstance(field.help_text, Promise), field
        if field.name not in products:
            assert all(isinstance(text, Promise) for _, text in field.flatchoices), field


def test_columns_can_be_translated() -> None:
    plain = []
    for page in admin.site._registry.values():
        for name in (*page.list_display, *page.readonly_fields):
            column = name if callable(name) else getattr(page, str(name), None)
            text = getattr(column, "short_description", None)
            if text is not None and not isinstance(text, Promise) and type(page).__module__.startswith("assistant."):
                plain.append(f"{type(page).__name__}.{name}: {text}")
    assert plain == []
