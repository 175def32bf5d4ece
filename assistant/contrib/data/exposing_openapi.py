"""What projects say of their OpenAPI documents, in the module `assistant` of an app."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.contrib.data.exposing_views import RequestFor, check_request_for
from assistant.toolkit import InvalidTool
from assistant.toolkit.unknown_options import lists_options

Document = Mapping[str, Any] | Callable[[], Mapping[str, Any]] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedDocument:
    """What `expose_openapi` was told; the attributes are its arguments.

    Attributes:
        operations: the names of tools by the ids of operations; None for those that read.
    """

    document: Document
    operations: tuple[tuple[str, str], ...] | None = None
    request_for: RequestFor | None = None
    untrusted: bool = False

    @property
    def label(self) -> str:
        """What the document is called in findings."""
        if isinstance(self.document, str):
            return self.document
        name = getattr(self.document, "__qualname__", "")
        return name or "the OpenAPI document"


_declared: list[ExposedDocument] = []


def declared_documents() -> list[ExposedDocument]:
    """Return the documents that the project has exposed so far, in that order."""
    return list(_declared)


@lists_options
def expose_openapi(
    document: Document,
    *,
    operations: Sequence[str] | Mapping[str, str] | None = None,
    request_for: RequestFor | None = None,
    untrusted: bool = False,
) -> None:
    """Make tools of the operations of the project's own OpenAPI document. They are off until switched on.

    They are called in the process as the member, through the project's addresses and views, without network and token.
    Operations that change something ask a person first.

    Args:
        document: the document; a function that returns it, such as `api.get_openapi_schema` of django-ninja; or the
            path of its address in this project, such as `/api/schema/` of drf-spectacular, which is asked once.
        operations: the `operationId`s to offer, or the tools' names by them. Default: those that read (GET).
        request_for: a function of a request and the tool's context, which sets on the request what your middleware
            would have set. Needed where the tenant is neither in the operation's address nor on the request.
        untrusted: whether the answers have text that outsiders wrote.

    Raises:
        InvalidTool: a value is not of its type.
    """
    if not (callable(document) or isinstance(document, Mapping | str)):
        raise InvalidTool(f"expose_openapi() takes a document, a function or a path, not {document!r}.")
    if isinstance(document, str) and not document.startswith("/"):
        raise InvalidTool(f"expose_openapi({document!r}): the path of an address of this project begins with a slash.")
    if isinstance(operations, str):
        raise InvalidTool("expose_openapi(): operations must be a list of ids.")
    check_request_for("expose_openapi()", request_for)
    named = operations.items() if isinstance(operations, Mapping) else [(one, "") for one in operations or ()]
    _declared.append(
        ExposedDocument(
            document=document,
            operations=None if operations is None else tuple(named),
            request_for=request_for,
            untrusted=untrusted,
        )
    )
