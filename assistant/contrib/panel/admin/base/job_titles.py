"""How pages show jobs: the titles of their work, and what they are about."""

from __future__ import annotations

from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.models import PromptVersion
from assistant.services.jobs.names import PUBLISH_JOB
from assistant.services.privacy.daily_retention import RETENTION_JOB

JOB_TITLES: dict[str, str | Promise] = {
    PUBLISH_JOB: _("Publish a prompt"),
    RETENTION_JOB: _("Delete what is older than the retention periods"),
}


# What jobs are about, by the jobs' names: their keys are these rows'.
JOB_PAGES: dict[str, type[Model]] = {PUBLISH_JOB: PromptVersion}
# Their waiting jobs are renewed as long as a process works on them, so they are cancelled and begun on their own pages.
ON_OWN_PAGES: set[str] = set()


# Jobs that nobody may cancel, with the reason.
MUST_BE_DONE: dict[str, str | Promise] = {}


def describe_job(
    name: str, title: str | Promise, *, page: type[Model] | None = None, must_be_done: str | Promise = ""
) -> None:
    """Say how pages show the jobs of a name.

    Args:
        must_be_done: why nobody may cancel them; empty if people may.
        page: of long work that is begun and cancelled on the page of what it is about: the model of that. The jobs'
            keys are the primary keys of its rows.
    """
    JOB_TITLES[name] = title
    if must_be_done:
        MUST_BE_DONE[name] = must_be_done
    if page is not None:
        JOB_PAGES[name] = page
        ON_OWN_PAGES.add(name)


def job_title(name: str) -> str:
    """Return the title of a job's work; the job's name if it has none."""
    return str(JOB_TITLES.get(name, name))
