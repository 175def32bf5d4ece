"""Exports a conversation as JSON or Markdown."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext, gettext_lazy

from assistant.models import Conversation
from assistant.models import Message as MessageRow
from assistant.services.conversations.added_details import notes
from assistant.services.conversations.pagination import ClientMessage, client_messages
from assistant.services.conversations.paths import shown_tree
from assistant.services.tenancy.members import Member

SPEAKERS = {"user": gettext_lazy("You"), "assistant": gettext_lazy("Assistant"), "tool": gettext_lazy("Tool")}


def as_json(*, member: Member, conversation: Conversation) -> dict[str, Any]:
    """Return a conversation and all of its messages, with the API's names.

    The first message of a branch names in `follows` the one that it comes after (null: none). Messages that are not on
    the path that is shown have `is_shown: false`.
    """
    return {
        "id": str(conversation.client_id),
        "title": conversation.title,
        "assistant": conversation.assistant.slug,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
        "tools_off": conversation.tools_off,
        "messages": _entries(member, conversation),
    }


def as_markdown(*, member: Member, conversation: Conversation) -> str:
    """Return all of a conversation as Markdown, with tools' results in code blocks."""
    title, name = conversation.title or gettext("Conversation"), conversation.assistant.name
    parts = [f"# {title}", gettext("With %(name)s.") % {"name": name}]
    tree = shown_tree(conversation)
    path, messages = tree.path(), {one.position: one for one in _messages(member, conversation)}
    for one in messages.values():
        parts.append(f"## {SPEAKERS[one.role]}, {one.created_at:%Y-%m-%d %H:%M} UTC")
        if one.position in tree.branches:
            parts.append(_remark(_version(messages.get(tree.branches[one.position] - 1))))
        if not path.has(one.position):
            parts.append(_remark(gettext("not shown")))
        parts += [gettext("Attached: %(name)s") % {"name": f"`{file['name']}`"} for file in one.attachments]
        if one.content:
            parts.append(_fenced(one.content) if one.role == "tool" else one.content)
        for call in one.tool_calls:
            calls = gettext("Calls %(tool)s:") % {"tool": f"`{call['name']}`"}
            parts.append(f"{calls}\n\n{_fenced(call['arguments'])}")
        if one.is_superseded:
            parts.append(_remark(gettext("cut off when the server stopped, and written again below")))
        elif one.is_partial:
            parts.append(_remark(gettext("cut off")))
        parts += [_remark(line) for line in notes(one.added)]
    return "\n\n".join(parts) + "\n"


def _remark(text: str) -> str:
    return f"*({text})*"


def _version(before: ClientMessage | None) -> str:
    if before is None:
        return gettext("another version, from the beginning")
    sentence = gettext("another version after the message of %(time)s")
    return sentence % {"time": f"{before.created_at:%Y-%m-%d %H:%M:%S}"}


def _messages(member: Member, conversation: Conversation) -> list[ClientMessage]:
    rows = MessageRow.objects.filter(conversation=conversation, conversation__tenant_id=member.tenant_id)
    return client_messages(member=member, rows=rows)


def _entries(member: Member, conversation: Conversation) -> list[dict[str, Any]]:
    tree = shown_tree(conversation)
    path, messages = tree.path(), {one.position: one for one in _messages(member, conversation)}
    entries = []
    for position, one in messages.items():
        entry = _entry(one)
        if position in tree.branches:
            before = messages.get(tree.branches[position] - 1)
            entry["follows"] = before.id if before else None
        entries.append(entry if path.has(position) else {**entry, "is_shown": False})
    return entries


def _entry(one: ClientMessage) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": one.id, "role": one.role, "content": one.content}
    if one.tool_calls:
        entry["tool_calls"] = list(one.tool_calls)
    if one.attachments:
        entry["attachments"] = list(one.attachments)
    if one.tool_call_id:
        entry["tool_call_id"] = one.tool_call_id
    if one.is_partial:
        entry["is_partial"] = True
    if one.is_superseded:
        entry["is_superseded"] = True
    if one.cut_reason:
        entry["cut_reason"] = one.cut_reason
    if one.feedback:
        entry["feedback"] = {"rating": one.feedback.rating, "comment": one.feedback.comment}
    if one.added:
        entry["added"] = dict(one.added)
    return {**entry, "created_at": one.created_at.isoformat()}


def _fenced(text: str) -> str:
    """Return a code block whose fence is longer than any in `text`."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
