"""What projects say of their models as knowledge, in the module `assistant` of an app."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from django.db.models import QuerySet

from assistant.toolkit import InvalidTool
from assistant.toolkit.calls.gate import positional_mistake
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.unknown_options import lists_options

Rows = QuerySet[Any, Any]
# A function of a row that returns a text.
TextOf = Callable[[Any], str]
_sources: list[KnowledgeSource] = []


def declared_sources() -> list[KnowledgeSource]:
    """Return what the project has declared so far, in that order."""
    return list(_sources)


class KnowledgeSource:
    """Rows of a model whose text assistants search and quote, as documents.

    Each row of a tenant becomes a document, which follows the row: it is made, replaced and deleted with it. Who finds
    it is decided when the question is asked: those to whom the tools of `expose` would show the row, while the row is
    among these.

    Args:
        rows: a queryset of the model, such as `Article.objects.published()`, or a function that returns one, for
            conditions that depend on the time.
        text: the name of the column with the text, or a function of a row that returns it.
        title: the same of the document's title. Default: `str(row)`.
        kind: what the text is: "markdown", "text" or "html".
        is_trusted: whether those who write the rows may instruct assistants.

    Raises:
        InvalidTool: a value is not of its type, or the model has a source already.
    """

    @lists_options
    def __init__(
        self,
        rows: Rows | Callable[[], Rows],
        *,
        text: str | TextOf,
        title: str | TextOf = str,
        kind: Literal["markdown", "text", "html"] = "markdown",
        is_trusted: bool = False,
    ) -> None:
        found = rows() if callable(rows) else rows
        if not isinstance(found, QuerySet):
            raise InvalidTool(f"KnowledgeSource() takes a queryset or a function of none, not {rows!r}.")
        self.model = found.model
        self.label: str = self.model._meta.label
        self._rows = rows
        if kind not in ("markdown", "text", "html"):
            raise InvalidTool(f"KnowledgeSource({self.label}): kind is markdown, text or html, not {kind!r}.")
        if any(one.model is self.model for one in _sources):
            raise InvalidTool(f"KnowledgeSource({self.label}) was made twice.")
        self.kind = kind
        self.is_trusted = is_trusted
        self._text = self._reader("text", text)
        self._title = self._reader("title", title)
        _sources.append(self)

    def _reader(self, option: str, given: str | TextOf) -> TextOf:
        if isinstance(given, str):
            return lambda row: _text(getattr(row, given))
        if given is str:
            return str
        mistake = "is async" if is_async(given) else positional_mistake(given, 1)
        if mistake:
            raise InvalidTool(f"KnowledgeSource({self.label}): {option} {mistake}.")
        return lambda row: _text(given(row))

    def rows(self) -> Rows:
        """Return the rows that are knowledge now, of all tenants."""
        found: Rows = self._rows() if callable(self._rows) else self._rows.all()
        return found

    def text_of(self, row: Any) -> str:
        """Return the text of a row."""
        return self._text(row)

    def title_of(self, row: Any) -> str:
        """Return the title of a row's document."""
        return self._title(row)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
