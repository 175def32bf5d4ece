"""The Django app of questions that the assistant asks."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class QuestionsConfig(OptionalApp):
    name = "assistant.contrib.questions"
    label = "assistant_questions"
    verbose_name = "Assistant: questions"
