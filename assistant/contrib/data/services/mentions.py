"""Documents and tools that a message names with @, beside rows of the project's own models."""

from __future__ import annotations

import json
from collections.abc import Collection

from django.db.models import Q
from django.utils.translation import gettext

from assistant.contrib.data.services.references import NamedRow, Reference, signed
from assistant.contrib.data.services.selecting import MAX_WORDS
from assistant.services.knowledge.reach import reach_of
from assistant.services.toolpolicy.titles import titles_of
from assistant.toolkit import ToolContext

# What a reference has in place of a model. No label of a model begins with this sign.
DOCUMENT, TOOL = "@document", "@tool"
SEARCH, READ = "search_docs", "read_document"
MAX_OF_KIND = 4


def mentions(text: str, context: ToolContext, *, tools: Collection[str]) -> list[NamedRow]:
    """Return the documents whose titles, and the tools whose names, contain all words of a text.

    Documents are those that the member may find now, where a tool reads them. Tenant and member: the context's.

    Args:
        tools: the names of those that the member may use now.
    """
    words = text.replace("\0", "").split()[:MAX_WORDS]
    return [*_documents(words, context, tools), *_tools(words, context, tools)] if words else []


def _documents(words: list[str], context: ToolContext, tools: Collection[str]) -> list[NamedRow]:
    if not {SEARCH, READ} & set(tools):
        return []
    titled = Q()
    for word in words:
        titled &= Q(title__icontains=word)
    found = reach_of(context).within(titled).documents().order_by("title", "pk")
    rows = found.values_list("pk", "title")[:MAX_OF_KIND]
    return [NamedRow(_signed(DOCUMENT, str(pk), context), title, gettext("document")) for pk, title in rows]


def _tools(words: list[str], context: ToolContext, tools: Collection[str]) -> list[NamedRow]:
    titles = {name: name.replace("_", " ") for name in tools} | titles_of(tenant_id=context.tenant.pk, names=tools)
    wanted = [word.casefold() for word in words]
    named = [
        (title, name) for name, title in titles.items() if all(word in f"{title} {name}".casefold() for word in wanted)
    ]
    return [
        NamedRow(_signed(TOOL, name, context), title, gettext("tool")) for title, name in sorted(named)[:MAX_OF_KIND]
    ]


def _signed(kind: str, key: str, context: ToolContext) -> str:
    return signed(Reference(str(context.tenant.pk), str(context.user.pk), kind, key))


def told_mention(reference: Reference, called: str, tools: Collection[str]) -> str:
    """Return what the model is told of a document or a tool that the message calls `called`.

    Nothing is read: a document's tool decides with the member's rights of then.
    """
    name = json.dumps(called, ensure_ascii=False)
    if reference.model == TOOL:
        if reference.pk in tools:
            return f"- The tool {reference.pk}, called {name} in the message: the user wants it to be used."
        return f"- The tool called {name} in the message is off. Say so if it matters."
    if READ in tools:
        return f"- The document called {name} in the message. Read it with {READ}, id {reference.pk}."
    if SEARCH in tools:
        return f"- The document called {name} in the message, of number {reference.pk}. Find it with {SEARCH}."
    return f"- The document called {name} in the message: no tool of yours reads it. Say so if it matters."
