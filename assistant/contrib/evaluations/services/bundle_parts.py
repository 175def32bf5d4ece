"""The lists that this app adds to bundles."""

from __future__ import annotations

from assistant.contrib.evaluations.models.evaluations import MAX_EVALUATIONS
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS
from assistant.contrib.evaluations.services.bundle_exports import (
    EvaluationPart,
    HostileCheckPart,
    exported_checks,
    exported_evaluations,
)
from assistant.contrib.evaluations.services.bundle_imports import import_checks, import_evaluations
from assistant.services.bundles.parts import AddedPart

PARTS = (
    AddedPart(
        key="hostile_checks",
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
        entry=EvaluationPart,
        most=MAX_EVALUATIONS,
        name_of=lambda part: f"{part.assistant}: {part.name}",
        assistant_of=lambda part: part.assistant,
        export=exported_evaluations,
        take=import_evaluations,
    ),
)
