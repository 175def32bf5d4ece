"""The tools over one exposed model: `find`, `get` and `summarise`."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth import get_permission_codename
from django.utils.translation import override

from assistant.contrib.data.services import rows, schemas, summaries
from assistant.contrib.data.services.plans import Plan
from assistant.toolkit import Tool

# What remains of a call's time when a statement has taken all of its own.
_SPARE_SECONDS = 10
_SUMMARISE = "Count {}, or sum a column of them, also by groups and periods."


def tools_of_plan(plan: Plan) -> list[Tool]:
    """Return the tools of one model; none if it is not offered."""
    if plan.problem:
        return []
    with override(None):
        return list(_made(plan))


def _made(plan: Plan) -> list[Tool]:
    meta = plan.model._meta
    exposure = plan.exposure
    options: dict[str, Any] = {
        "read_only": True,
        "idempotent": True,
        "open_world": False,
        "destructive": False,
        "untrusted": exposure.untrusted,
        "timeout": 2 * settings.ASSISTANT_DATA_SECONDS + _SPARE_SECONDS,
    }
    if exposure.permission:
        options["permission"] = f"{meta.app_label}.{get_permission_codename('view', meta)}"
    one = plan.one.replace("_", " ")
    many = plan.many.replace("_", " ")
    find_name, get_name, *others = plan.tools
    what = _what(plan)
    columns = ", ".join(column.name for column in plan.columns)
    made = [
        Tool(
            name=find_name,
            title=f"Find {many}",
            description=(
                f"{exposure.worded('tools.find') or f'Find {many} by conditions or words.'} {what} "
                f"Rows have an id, a label, a link and: {columns}."
            ),
            parameters=schemas.find_parameters(plan),
            handler=partial(rows.find, plan),
            **options,
        ),
        Tool(
            name=get_name,
            title=f"Get {one}",
            description=f"{exposure.worded('tools.get') or f'Get one {one} by its id, with long texts whole.'} {what}",
            parameters=schemas.get_parameters(plan),
            handler=partial(rows.get, plan),
            **options,
        ),
    ]
    made += [
        Tool(
            name=name,
            title=f"Summarise {many}",
            description=f"{exposure.worded('tools.summarise') or _SUMMARISE.format(many)} {what}",
            parameters=schemas.summarise_parameters(plan),
            handler=partial(summaries.summarise, plan),
            **options,
        )
        for name in others
    ]
    return made


def _what(plan: Plan) -> str:
    """Return what the rows are: as the project says, else by the model's docstring."""
    model = plan.model
    text = plan.exposure.description or inspect.cleandoc(model.__doc__ or "").split("\n\n")[0]
    # Django writes a docstring for models that have none.
    is_generated = text.startswith(f"{model.__name__}(")
    return "" if is_generated else " ".join(text.split()).rstrip(".") + "." if text else ""
