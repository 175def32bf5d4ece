"""The lists that this app adds to bundles."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.evaluations.bundle_parts.exports import (
    EvaluationPart,
    HostileCheckPart,
    exported_checks,
    exported_evaluations,
)
from assistant.contrib.evaluations.bundle_parts.imports import import_checks, import_evaluations
from assistant.contrib.evaluations.models.evaluations import MAX_EVALUATIONS, Evaluation
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS, HostileCheck

PARTS = (
    AddedPart(
        key="hostile_checks",
        section="hostile_check",
        title=_("Own hostile check"),
        model=HostileCheck,
        entry=HostileCheckPart,
        most=MAX_OWN_CHECKS,
        name_of=lambda part: part.name,
        assistant_of=lambda part: part.assistant,
        export=exported_checks,
        take=import_checks,
        texts=frozenset({"question", "planted_result", "forbidden_text", "forbidden_value"}),
    ),
    AddedPart(
        key="evaluations",
        section="evaluation",
        title=_("Evaluation"),
        model=Evaluation,
        entry=EvaluationPart,
        most=MAX_EVALUATIONS,
        name_of=lambda part: f"{part.assistant}: {part.name}",
        assistant_of=lambda part: part.assistant,
        export=exported_evaluations,
        take=import_evaluations,
    ),
)
