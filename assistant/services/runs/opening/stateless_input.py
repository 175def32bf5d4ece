"""The input of a stateless run: its caller keeps the history, and sends it whole."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assistant.core.values.messages import Message
from assistant.models import Run
from assistant.services.runs.content_parts import File
from assistant.services.runs.extensions.tool_answers import ToolAnswers
from assistant.services.runs.run_input import CallerSettings
from assistant.toolkit import Tool


@dataclass(frozen=True, slots=True)
class StatelessInput:
    """The validated input of a stateless run.

    Attributes:
        new: the number of new messages, at the end of `messages`. They are stored for the audit.
        question: the id of the user's message to answer, "" if none follows the last answer. The model must be able
            to read its files; of earlier ones a note is enough.
        files: those of the users' messages, by the id of the message.
        thread_id: set if the request may be repeated, so that the repetition finds the run with its id.
        asked: what the caller asks of the requests to the model; None for nothing.
        answers: how tools are answered in a test; None for any other run.
        prompt_version_id: the version of the prompt that a test uses; None for the published one.
        follows: the id of the response that it continues; "" for none.
        on_begun: called with the run's row in the transaction that stores it.
    """

    run_id: str
    messages: tuple[Message, ...]
    new: int
    question: str = ""
    files: Mapping[str, tuple[File, ...]] = field(default_factory=dict)
    thread_id: uuid.UUID | None = None
    client_tools: tuple[Tool, ...] = ()
    asked: CallerSettings | None = None
    answers: ToolAnswers | None = None
    prompt_version_id: int | None = None
    follows: str = ""
    on_begun: Callable[[Run], object] | None = None

    @property
    def has_files(self) -> bool:
        """Whether any of its messages comes with files."""
        return bool(self.files)
