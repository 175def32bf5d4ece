"""The names of the app's jobs. Their keys are the primary keys of the evaluation, or of the run of hostile checks."""

from __future__ import annotations

EVALUATE_JOB = "evaluation.run"
HOSTILE_CHECKS_JOB = "hostile_checks.run"
