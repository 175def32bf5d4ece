"""What the OpenAPI schema says of all operations of the core."""

from __future__ import annotations

from rest_framework.views import APIView

from assistant.api.openapi import Operation
from assistant.contrib.docs.operations import assistants, attachments, conversations, documents, runs, streams

_SUBJECTS = (assistants, attachments, conversations, documents, runs, streams)
_OF_CORE = {view: methods for subject in _SUBJECTS for view, methods in subject.OPERATIONS.items()}


def operation_of(view: APIView, method: str) -> Operation:
    """Return what is said of a method of a view: by the view of an optional app itself, else here."""
    said: Operation | None = getattr(getattr(view, method), "operation", None)
    return said or _OF_CORE[type(view)][method]
