"""The whole proposal for a project: what is added to which file, and the facts that it follows from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps

from assistant.contrib.data.services.init import written_code
from assistant.contrib.data.services.init.candidates import Candidate
from assistant.contrib.data.services.init.changes import Record
from assistant.contrib.data.services.init.exposures import Proposal, Proposed, propose
from assistant.contrib.data.services.init.project import (
    Project,
    celery_broker,
    named_apps,
    needs_sign_in_page,
    own_models,
    uses_sqlite_without_immediate,
)
from assistant.models import Tenant
from assistant.toolkit.guards.tenant_paths import TenantModels

# Installed, not mounted: the core names its log.
_ADMIN = "django.contrib.admin"
_APPS = ("assistant", "assistant.contrib.panel", "assistant.contrib.data")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write: the text to add by file, and the facts to compare with later."""

    texts: dict[str, str]
    facts: dict[str, Any]
    proposal: Proposal
    is_by_hand: bool


def plan_for(project: Project, candidate: Candidate, record: Record | None) -> Plan:
    """Return what to write into a project.

    Args:
        record: what was written before, which does not count as the project's own.
    """
    members = candidate.members
    membership = None if members is None else members.model
    known = TenantModels({Tenant: "id", candidate.model: "external_id"})
    proposal = propose(list(own_models(project)), known=known, without=(candidate.model, membership))
    texts: dict[str, str] = {}
    settings_text = _own_text(project, project.settings_file, record)
    described = "ASSISTANT_TENANTS" in settings_text
    by_app: dict[str, list[Proposed]] = {}
    for one in proposal.exposed:
        by_app.setdefault(one.model._meta.app_config.path, []).append(one)
    home = candidate.model._meta.app_config
    if not described:
        by_app.setdefault(home.path, [])
    tools = written_code.tool_names(proposal.exposed)
    class_name = f"{candidate.model.__name__}Tenants"
    for folder, exposed in by_app.items():
        is_home = folder == home.path and not described
        file = _relative(project, Path(folder) / "assistant.py")
        texts[file] = written_code.module_block(
            project,
            exposed=exposed,
            candidate=candidate if is_home else None,
            everything=proposal.exposed,
            tools=tools,
            class_name=class_name,
        )
    if not described:
        # A project with a broker in Redis has several processes, which share the assistant's events there too.
        wanted = (*_APPS, "assistant.contrib.redis") if celery_broker() else _APPS
        there = named_apps(settings_text)
        names = [name for name in wanted if name not in there]
        if not project.has_admin and "assistant.contrib.panel" in names:
            names.remove("assistant.contrib.panel")
        if not apps.is_installed("django.contrib.admin") or f'"{_ADMIN}"' in _block_text(record, project):
            names.insert(0, _ADMIN)
        texts[_relative(project, project.settings_file)] = written_code.settings_block(
            apps=names,
            host=f"{home.name}.assistant.{class_name}",
            signs_in=_was_there(record, project, "LOGIN_URL") or needs_sign_in_page(),
            immediate=_was_there(record, project, "transaction_mode") or uses_sqlite_without_immediate(),
        )
    urls_text = _own_text(project, project.urls_file, record)
    if not any(name in urls_text for name in ("assistant.urls", "assistant.api_urls", "assistant.page_urls")):
        texts[_relative(project, project.urls_file)] = written_code.urls_block(project)
    if project.asgi_file is not None and "with_assistant" not in _own_text(project, project.asgi_file, record):
        texts[_relative(project, project.asgi_file)] = written_code.asgi_block(project)
    return Plan(texts, _facts(candidate, proposal), proposal, described)


def _facts(candidate: Candidate, proposal: Proposal) -> dict[str, Any]:
    members = candidate.members
    return {
        "tenant_model": candidate.label,
        "membership_model": "" if members is None else members.model._meta.label,
        "models": {
            one.label: {
                "path": one.path,
                "fields": list(one.fields),
                "personal": list(one.personal),
                "left_out": list(one.left_out),
            }
            for one in proposal.exposed
        },
        "not_proposed": dict(proposal.others),
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return what has changed in a project since its proposal was written, a sentence each."""
    told = [
        f"{name.replace('_', ' ')}: {before.get(name) or '–'} → {now.get(name) or '–'}"
        for name in ("tenant_model", "membership_model")
        if before.get(name) != now.get(name)
    ]
    old_models = before.get("models", {}) | before.get("not_proposed", {})
    new_models = now.get("models", {}) | now.get("not_proposed", {})
    for label in sorted({*old_models, *new_models}):
        old = old_models.get(label)
        new = new_models.get(label)
        if old is None or new is None:
            told.append(f"{label} is {'new' if old is None else 'no longer there'}.")
        elif isinstance(old, dict) and isinstance(new, dict):
            told += [
                f"{label}, {name.replace('_', ' ')}: {_shown(old.get(name))} → {_shown(new.get(name))}"
                for name in ("path", "fields", "personal", "left_out")
                if old.get(name) != new.get(name)
            ]
        elif old != new:
            told.append(f"{label}: {_kind(old)} → {_kind(new)}")
    return told


def _kind(value: Any) -> str:
    return "proposed" if isinstance(value, dict) else str(value)


def _shown(value: Any) -> str:
    return (", ".join(value) if isinstance(value, list) else str(value or "")) or "–"


def _relative(project: Project, path: Path) -> str:
    return str(path.resolve().relative_to(project.folder))


def _own_text(project: Project, path: Path, record: Record | None) -> str:
    """Return a file's text without what was written before."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    block = None if record is None else record.block_of(_relative(project, path))
    return text if block is None else text.partition(block.text.splitlines()[0])[0]


def _was_there(record: Record | None, project: Project, word: str) -> bool:
    return word in _block_text(record, project)


def _block_text(record: Record | None, project: Project) -> str:
    block = None if record is None else record.block_of(_relative(project, project.settings_file))
    return "" if block is None else block.text
