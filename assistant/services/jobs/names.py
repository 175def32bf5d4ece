"""The names of the work that people of a tenant order, and whose jobs they see. Other jobs are the operators' alone."""

from __future__ import annotations

# The key of a job is the primary key of the prompt version, the run of checks, or the evaluation.
PUBLISH_JOB = "prompt.publish"
CHECKS_JOB = "assistant.checks"
EVALUATE_JOB = "evaluation.run"
OF_TENANTS = (PUBLISH_JOB, CHECKS_JOB, EVALUATE_JOB)
