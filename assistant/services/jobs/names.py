"""The names of the work that people of a tenant order, and whose jobs they see. Other jobs are the operators' alone."""

from __future__ import annotations

# The key of a job is the primary key of the prompt version.
PUBLISH_JOB = "prompt.publish"
_of_tenants = {PUBLISH_JOB}


def show_to_tenants(name: str) -> None:
    """Show jobs of this name to the people of their tenant who may change its prompts, because such people order it."""
    _of_tenants.add(name)


def of_tenants() -> frozenset[str]:
    """Return the names of the jobs that people of a tenant see."""
    return frozenset(_of_tenants)
