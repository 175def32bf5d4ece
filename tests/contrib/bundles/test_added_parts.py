"""Optional apps add lists to bundles; where an app is not installed, its list is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

import pytest

from assistant.contrib.bundles.admin.shown_difference import shown_parts
from assistant.contrib.bundles.services import part_modules, parts
from assistant.contrib.bundles.services.difference import Difference, Entry
from assistant.contrib.bundles.services.export import bundle_of_tenant, text_of
from assistant.contrib.bundles.services.format import BundleError, Part
from assistant.contrib.bundles.services.imports import import_bundle
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.reading import read_bundle
from assistant.contrib.bundles.services.target import Target, changes_of
from assistant.models import Assistant, AuditEntry, PromptVariable, Tenant
from tests.base import Cast


class Badge(Part):
    """What a test's app has of each assistant."""

    name: str
    assistant: str | None


TAKEN: list[tuple[str, str]] = []


def exported(tenant: Tenant, assistant: Assistant | None) -> list[Badge]:
    return [Badge(name="first", assistant="support"), Badge(name="second", assistant=None)]


def take(target: Target, badges: Sequence[Badge], is_whole: bool) -> Iterator[Entry]:
    for badge in badges:
        TAKEN.append((target.tenant.slug, badge.name))
        yield Entry("create", "badge", badge.name, changes_of([("name", None, badge.name), ("colour", None, "red")]))


@pytest.fixture(autouse=True)
def badges(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install an app that adds badges to bundles."""
    module = ModuleType("badges_of_a_test")
    module.PARTS = (  # type: ignore[attr-defined]
        AddedPart(
            key="badges",
            section="badge",
            title="Badge",
            model=Tenant,
            entry=Badge,
            most=3,
            name_of=lambda badge: badge.name,
            assistant_of=lambda badge: badge.assistant,
            export=exported,
            take=take,
            texts=frozenset({"colour"}),
        ),
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(part_modules, "_modules", [])
    part_modules.add_parts(module.__name__)
    parts.bundle_type.cache_clear()
    TAKEN.clear()
    yield
    parts.bundle_type.cache_clear()


def test_a_list_is_exported_and_imported_and_its_texts_are_not_in_the_audit(cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.acme, name="hours", value="nine")
    bundle = read_bundle(text_of(bundle_of_tenant(tenant=cast.acme)).encode())
    difference = import_bundle(bundle=bundle, tenant=cast.globex, actor=cast.root)
    assert TAKEN == [("globex", "first"), ("globex", "second")]
    assert [one.name for one in difference.entries if one.section == "badge"] == ["first", "second"]
    kept = AuditEntry.objects.get(target="badge first").details
    assert "red" not in str(kept) and "colour" in kept["changes"]


def test_a_section_of_a_difference_has_a_title() -> None:
    (part,) = shown_parts(Difference((Entry("create", "badge", "first"), Entry("create", "limits", ""))))
    assert [(entry.section, entry.name) for entry in part.entries] == [("Badge", "first"), ("Limits", "")]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('"second"', '"first"', "badges has the same name twice"),
        ('"name": "second"', '"name": 7', "badges"),
        ('"badges"', '"medals"', "medals"),
    ],
)
def test_a_list_that_is_not_as_the_app_says_is_refused(before: str, after: str, why: str, cast: Cast) -> None:
    text = text_of(bundle_of_tenant(tenant=cast.acme))
    with pytest.raises(BundleError, match=why):
        read_bundle(text.replace(before, after).encode())


def test_a_list_of_an_app_that_is_not_installed_is_refused(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(bundle_of_tenant(tenant=cast.acme))
    monkeypatch.setattr(part_modules, "_modules", [])
    parts.bundle_type.cache_clear()
    with pytest.raises(BundleError, match="badges"):
        read_bundle(text.encode())
