"""A conversation's page: the thread as its member sees it, and beside it each run as a waterfall."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.base.added_links import added_links
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.conversations.run_sections import thread_parts
from assistant.contrib.panel.reports.thread import Exchange, ShownMessage, Thread
from assistant.contrib.panel.reports.waterfall import FAILED, WAITING, Step, Waterfall
from assistant.markdown.cut_text import close_text
from assistant.markdown.render import render_blocks
from assistant.models import Conversation, Message, Run, ToolCall
from assistant.services.conversations.tool_switch import ALL_TOOLS

# Of the bars: as wide as the cell, with these units.
BAR_UNITS = 1_000


def may_try(request: HttpRequest, tenant_id: int) -> bool:
    """Whether the user may try a tenant's questions on a draft: those who may write its prompts, where that is on."""
    return settings.ASSISTANT_PROMPT_TESTS and tenants_of(request, "prompts").filter(pk=tenant_id).exists()


def tools_off(conversation: Conversation) -> str:
    """Return in words which tools the member has switched off in a conversation; empty if none."""
    return _("All tools") if ALL_TOOLS in conversation.tools_off else ", ".join(conversation.tools_off)


def shown_thread(request: HttpRequest, thread: Thread) -> list[dict[str, Any]]:
    """Return a thread for its template, with what apps show of its runs."""
    runs = [exchange.waterfall.run for exchange in thread.exchanges if exchange.waterfall is not None]
    parts = thread_parts(request, runs)
    return [_shown(exchange, parts) for exchange in thread.exchanges]


def _shown(exchange: Exchange, parts: Mapping[int, Sequence[SafeString]]) -> dict[str, Any]:
    fall = exchange.waterfall
    return {
        "messages": [_message(message) for message in exchange.messages],
        "fall": None if fall is None else shown_waterfall(fall),
        "parts": [] if fall is None else parts.get(fall.run.pk, []),
    }


def _message(message: ShownMessage) -> dict[str, Any]:
    is_answer = message.row.role == Message.Role.ASSISTANT
    text = close_text(message.row.content) if message.row.is_partial else message.row.content
    return {
        "row": message.row,
        "is_answer": is_answer,
        "blocks": markdown_html(text) if is_answer else [],
        "calls": message.calls,
        "feedback": message.feedback,
    }


def markdown_html(text: str) -> list[SafeString]:
    """Return a Markdown text as HTML blocks, sanitised as those that members see."""
    return [mark_safe(block) for block in render_blocks(text)]  # noqa: S308 - the renderer's own, sanitised  # nosec B308, B703


def shown_waterfall(fall: Waterfall) -> dict[str, Any]:
    """Return a waterfall for its template, each step with its bar."""
    return {
        "it": fall,
        "run": fall.run,
        "links": added_links("run", fall.run),
        "state": _state(fall),
        "steps": [
            {"it": step, "bar": bar(step, fall.total_ms), "refused_by": _refused_by(step)} for step in fall.steps
        ],
        "configuration": None if fall.configuration is None else _configuration(fall),
        "options": _lines(fall.choices.get("options")),
        "client_tools": ", ".join(map(str, fall.choices.get("client_tools", ()))),
        "context": ", ".join(map(str, fall.choices.get("context", ()))),
    }


def _state(fall: Waterfall) -> str:
    """Return the status. A run whose approval was answered stays `waiting`, because another run continues it."""
    waits = any(step.status == ToolCall.Status.AWAITING_APPROVAL for step in fall.steps)
    if fall.run.status == Run.Status.WAITING and not waits:
        return _("Answered; another run went on")
    return str(fall.run.get_status_display())


def bar(step: Step, total_ms: int) -> SafeString | str:
    """Return a step's bar as inline SVG, in the run's time; the wait for the first token is paler."""
    if step.at is None or step.ms is None or total_ms <= 0:
        return ""
    left, width = _units(step.at, total_ms), max(_units(step.ms, total_ms), 4)
    wait = 0 if step.first is None else min(_units(step.first, total_ms), width)
    kind = "model" if step.kind == "model" else _kind_of_call(step)
    title = _("from %(at)s ms, %(ms)s ms") % {"at": f"{step.at:,}", "ms": f"{step.ms:,}"}
    return format_html(
        '<svg class="bar" viewBox="0 0 {} 10" preserveAspectRatio="none" role="img" aria-label="{}"><title>{}</title>'
        '<rect class="bar-wait" x="{}" y="2" width="{}" height="6"/>'
        '<rect class="bar-{}" x="{}" y="0" width="{}" height="10"/></svg>',
        BAR_UNITS, title, title, left, wait, kind, left + wait, max(width - wait, 0),
    )  # fmt: skip


def _kind_of_call(step: Step) -> str:
    return "failed" if step.status in FAILED else "waiting" if step.status in WAITING else "tool"


def _units(milliseconds: int, total_ms: int) -> int:
    return round(BAR_UNITS * milliseconds / total_ms)


def _refused_by(step: Step) -> str:
    """Return the rule that refused a call; empty for any other step."""
    is_refused = step.kind == "tool" and step.status == ToolCall.Status.REFUSED and step.call is not None
    return shown_rule(step.call.rule) if is_refused and step.call is not None else ""


def _configuration(fall: Waterfall) -> dict[str, Any]:
    content = fall.configuration or {}
    # What was recorded holds for the beginning of the run: a tool may have been switched since.
    refused = {step.name: rule for step in fall.steps if (rule := _refused_by(step))}
    tools = [
        {**tool, "rule": shown_rule(tool.get("rule", "")), "later": "" if tool.get("policy") == "off" else later}
        for tool in content.get("tools") or []
        for later in [refused.get(tool.get("name"), "")]
    ]
    return {
        "provider": content.get("provider") or {},
        "limits": _lines({**(content.get("limits") or {}), "history": content.get("history")}),
        "tools": tools,
        "offered": sum(tool.get("policy") != "off" for tool in content.get("tools") or []),
    }


def _lines(values: Any) -> list[tuple[str, str]]:
    """Return names and values as text; a list has names alone."""
    if isinstance(values, Mapping):
        return [(str(name), json.dumps(value, ensure_ascii=False)) for name, value in values.items()]
    return [(str(name), "") for name in values or ()]
