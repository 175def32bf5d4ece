"""The events of a Responses stream as typed values.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
Fields that servers fill with more than one type are `Any`; `reply_assembler` interprets them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from assistant.providers.openai_wire.error_sentences import with_status
from assistant.providers.openai_wire.sse import Decoder


class Event(msgspec.Struct, gc=False):
    """One event, or a whole response that was not streamed."""

    type: str | None = None
    delta: Any = None
    arguments: Any = None
    item: Any = None
    item_id: Any = None
    output_index: Any = None
    response: Any = None
    annotation: Any = None
    # Of an error.
    error: Any = None
    code: Any = None
    message: Any = None
    detail: Any = None
    param: Any = None
    # Of a whole response.
    object: Any = None
    status: Any = None
    output: Any = None
    usage: Any = None
    model: Any = None
    id: Any = None
    incomplete_details: Any = None

    @property
    def is_whole(self) -> bool:
        """Whether this is a response that was not streamed."""
        return self.type is None and (self.object == "response" or isinstance(self.output, list))

    @property
    def as_response(self) -> dict[str, Any]:
        """The response, in the form in which the last event of a stream has it."""
        return {
            "status": self.status or "completed",
            "output": self.output,
            "usage": self.usage,
            "model": self.model,
            "id": self.id,
            "error": self.error,
            "incomplete_details": self.incomplete_details,
        }

    @property
    def failure(self) -> Any:
        """The error that the server reports, in its own form; None if there is none."""
        if self.type == "error" or self.type is None:
            if self.error:
                return with_status(self.error, self.status)
            if self.type == "error":
                return {"code": self.code, "message": self.message or self.detail, "param": self.param}
            return None if self.is_whole else self.message or self.detail
        return None


EVENTS = Decoder(Event)
