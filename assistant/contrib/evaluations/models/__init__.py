"""Evaluations with their questions and answers; a tenant's own hostile checks, and runs of hostile checks."""

from assistant.contrib.evaluations.models.evaluations import Evaluation, EvaluationCase, EvaluationResult
from assistant.contrib.evaluations.models.hostile_checks import HostileCheck, HostileCheckResult, HostileCheckRun

__all__ = [
    "Evaluation",
    "EvaluationCase",
    "EvaluationResult",
    "HostileCheck",
    "HostileCheckResult",
    "HostileCheckRun",
]
