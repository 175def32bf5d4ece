"""What the documents within reach are, in a sentence or two for the model that may search them."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

from cachetools import TTLCache
from django.db.models import Count

from assistant.models import Tenant
from assistant.services.db.threads import in_database_with_retry
from assistant.services.knowledge.reach import Reach, has_rule, reach_of
from assistant.toolkit import ToolContext

# How long a description is kept, so that turns do not read it anew, and for how many tenants.
_KEPT_SECONDS = 60
_MAX_TENANTS = 1_000
# Limits of a description: titles, and characters of all of them.
MAX_TITLES = 12
MAX_TITLES_CHARACTERS = 400
_LANGUAGES = {
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "hu": "Hungarian",
    "it": "Italian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
}
# A tenant, and what of its documents may be read: its name and version.
_Key = tuple[int, str, str]
_kept: TTLCache[_Key, str] = TTLCache(_MAX_TENANTS, _KEPT_SECONDS)
_lock = Lock()
_WHOLE = ("", "")
_NOTHING = "There are none yet."


async def described(context: ToolContext) -> str:
    """Return `describe_documents` of what a context may find, at most a minute old; what that is, is asked now."""
    kept = None if has_rule() and not has_none(context) else _known((context.tenant.pk, *_WHOLE))
    return await in_database_with_retry(_described, context) if kept is None else kept


def has_none(context: ToolContext) -> bool:
    """Return whether the tenant is known, for at most a minute, to have no documents, which no rule can narrow."""
    return _known((context.tenant.pk, *_WHOLE)) == _NOTHING


def _described(context: ToolContext) -> str:
    reach = reach_of(context)
    key = (reach.tenant_id, reach.name, reach.version)
    text = _known(key)
    if text is None:
        text = describe_documents(reach)
        with _lock:
            _kept[key] = text
    return text


def _known(key: _Key) -> str | None:
    with _lock:
        return _kept.get(key)


def describe_documents(reach: Reach) -> str:
    """Return how many documents there are, in which languages, and the titles of the trusted ones.

    A title is part of a prompt here, so those that outsiders may have written are left out.
    """
    documents = reach.documents()
    counts = documents.order_by().values("language").annotate(count=Count("pk")).order_by("-count", "language")
    languages = [(row["language"], row["count"]) for row in counts]
    total = sum(count for _, count in languages)
    if not total:
        return _NOTHING
    named = [_LANGUAGES[language] for language, _ in languages if language in _LANGUAGES]
    text = f"There {'is' if total == 1 else 'are'} {total}{_listed(' in ', named)}."
    trusts_all = Tenant.objects.filter(pk=reach.tenant_id, trusts_documents=True).exists()
    trusted = documents if trusts_all else documents.filter(is_trusted=True)
    titles = list(
        fitting(trusted.order_by("title").values_list("title", flat=True)[:MAX_TITLES], MAX_TITLES_CHARACTERS)
    )
    return f"{text} Among them: {'; '.join(titles)}." if titles else text


def fitting(names: Iterable[str], room: int) -> Iterable[str]:
    """Yield names as long as they, with what separates them, fit into so many characters."""
    for name in names:
        room -= len(name) + 2
        if room < 0:
            return
        yield name


def _listed(before: str, names: list[str]) -> str:
    return before + ", ".join(names) if names else ""
