"""Failures in calls to an external MCP server, with sentences that a model may read."""

from __future__ import annotations

from typing import Literal

from assistant.toolkit import ToolError

FailureKind = Literal[
    "unreachable",
    "failing",
    "busy",
    "timeout",
    "unauthorized",
    "forbidden",
    "error",
    "protocol",
    "changed",
    "gone",
    "ended",
    "too long",
]

SENTENCES: dict[FailureKind, str] = {
    "unreachable": "The external server cannot be reached. Try again later.",
    "failing": "The external server answered that it is failing. Try again later.",
    "busy": "The external server is receiving too many requests. Try again later.",
    "timeout": "The external server did not answer in time. Try again later.",
    "unauthorized": "The external server did not accept our credentials. An administrator can set them.",
    "forbidden": "The external server does not allow this.",
    "error": "The external server answered with an error.",
    "protocol": "The external server gave an answer that breaks the protocol.",
    "changed": "The external server has changed this tool. An administrator must accept the change first.",
    "gone": "The external server no longer offers this tool.",
    "too long": "The external server's answer is too long to be read. Ask for less.",
    "ended": "The connection to the external server ended before it answered.",
}


class RemoteFailure(ToolError):
    """A call has no result; the message is one of `SENTENCES`.

    Attributes:
        kind: what failed.
        detail: the server's or the SDK's own message, for the operator's log.
        said: what the tool says about its failure, which the model reads too.
        was_not_run: the server did not start the call, so that it may be sent again.
        may_have_run: as of `ToolError`.
    """

    def __init__(
        self,
        kind: FailureKind,
        detail: str = "",
        *,
        said: str = "",
        was_not_run: bool = False,
        may_have_run: bool = False,
    ) -> None:
        super().__init__(f"{SENTENCES[kind]} It says: {said}" if said else SENTENCES[kind], may_have_run=may_have_run)
        self.kind: FailureKind = kind
        self.detail = detail[:500]
        self.said = said
        self.was_not_run = was_not_run

    def with_words(self, words: str) -> RemoteFailure:
        """Return the same failure, whose detail ends with the server's last words; "" adds none."""
        if words and words not in self.detail:
            self.detail = f"{self.detail[:180]}; it said: {words}".removeprefix("; ")[:500]
        return self
