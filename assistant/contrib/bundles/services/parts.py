"""What optional apps add to bundles: lists of entries under keys of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any

from django.db.models import Model
from django.utils.functional import Promise
from pydantic import Field, create_model, model_validator

from assistant.contrib.bundles.services.difference import Entry
from assistant.contrib.bundles.services.format import Bundle, Part, check_doubles
from assistant.contrib.bundles.services.part_modules import part_modules
from assistant.contrib.bundles.services.target import Target
from assistant.models import Assistant, Tenant


@dataclass(frozen=True, slots=True, eq=False)
class AddedPart:
    """A list of entries that an app adds to bundles.

    Attributes:
        key: of the list, in the file.
        section: what the entries that `take` yields call their section.
        title: what pages call one of its rows.
        model: the model of its rows.
        entry: the type of an entry.
        most: how many entries a list may have.
        name_of: returns the name of an entry, which no other of the list may have.
        assistant_of: returns the short name of an entry's assistant; None if it is for all of the tenant.
        export: returns the entries of a tenant, or of one of its assistants, in a fixed order. The number of queries is
            constant.
        take: imports entries, and yields what was done with each. The flag says whether the bundle is of a whole
            tenant, so that what it does not name is only here.
        texts: columns whose values the audit trail does not keep.
        gives_tools: whether tools depend on it, so that it is imported before their switches.
        other_name_of: returns another name that no other entry of the list may have.
    """

    key: str
    section: str
    title: str | Promise
    model: type[Model]
    entry: type[Part]
    most: int
    name_of: Callable[[Any], str]
    assistant_of: Callable[[Any], str | None]
    export: Callable[[Tenant, Assistant | None], Iterable[Part]]
    take: Callable[[Target, Sequence[Any], bool], Iterator[Entry]]
    texts: frozenset[str] = frozenset()
    gives_tools: bool = False
    other_name_of: Callable[[Any], str] | None = None


def added_parts() -> tuple[AddedPart, ...]:
    """Return what apps have added, in the order in which it is exported and imported."""
    return tuple(part for module in part_modules() for part in import_module(module).PARTS)


@cache
def bundle_type() -> type[Bundle]:
    """Return the type of bundles here: with the lists of the installed apps, and with no others."""
    parts = added_parts()
    fields: dict[str, Any] = {
        part.key: (Annotated[list[part.entry], Field(max_length=part.most)], Field(default_factory=list))  # type: ignore[name-defined]
        for part in parts
    }

    def check(bundle: Bundle) -> Bundle:
        for part in parts:
            entries = getattr(bundle, part.key)
            for name_of in filter(None, (part.name_of, part.other_name_of)):
                check_doubles(part.key, [name_of(entry) for entry in entries])
            others = {part.assistant_of(entry) for entry in entries} - {one.slug for one in bundle.assistants}
            if bundle.kind == "assistant" and others:
                raise ValueError(f"a bundle of the kind assistant has only {part.key} of this assistant")
        return bundle

    validators: Any = {"check_added_parts": model_validator(mode="after")(check)}
    return create_model("Bundle", __base__=Bundle, __validators__=validators, **fields)


def added_entries(tenant: Tenant, assistant: Assistant | None) -> dict[str, Any]:
    """Return the lists of a tenant, or of one of its assistants, that have entries."""
    found = {part.key: list(part.export(tenant, assistant)) for part in added_parts()}
    # Where an app is not installed, bundles without its lists can be read.
    return {key: entries for key, entries in found.items() if entries}
