"""URLs of the REST API."""

from __future__ import annotations

from django.urls import URLPattern, include, path, re_path

from assistant.api import (
    alarms,
    assistants,
    attachments,
    conversations,
    end_users,
    files,
    openapi_pages,
    run_events,
    runs,
    schedules,
    shares,
    usage,
)
from assistant.api.base import TenantView
from assistant.api.pending.results import pending_result
from assistant.services.tenancy.scopes import REST


def _path(address: str, view: type[TenantView], name: str | None = None) -> URLPattern:
    return path(address, view.as_view(rules=REST[address]), name=name)


of_tenant = [
    _path("assistants/", assistants.Assistants),
    _path("assistants/<slug:assistant>/", assistants.OneAssistant),
    _path("assistants/<slug:assistant>/tools/", assistants.EffectiveTools),
    _path("assistants/<slug:assistant>/end-user-tokens/", end_users.EndUserTokens),
    _path("assistants/<slug:assistant>/runs/", run_events.StartRun, name="start-run"),
    _path("conversations/", conversations.Conversations),
    _path("conversations/<uuid:thread>/", conversations.OneConversation),
    _path("conversations/<uuid:thread>/export/", conversations.Export),
    _path("conversations/<uuid:thread>/messages/", conversations.Messages),
    _path("conversations/<uuid:thread>/shown/", conversations.Shown),
    _path("conversations/<uuid:thread>/messages/<str:message_id>/feedback/", conversations.MessageFeedback),
    _path("conversations/<uuid:thread>/shares/", shares.Shares),
    _path("conversations/<uuid:thread>/shares/<uuid:share>/", shares.OneShare),
    _path("conversations/<uuid:thread>/runs/", runs.ConversationRuns),
    _path("runs/<str:run_id>/", runs.OneRun, name="run"),
    _path("runs/<str:run_id>/events/", run_events.RunEvents, name="run-events"),
    _path("runs/<str:run_id>/cancel/", runs.CancelRun),
    _path("runs/<str:run_id>/approvals/", runs.RunApprovals),
    _path("approvals/", runs.Approvals),
    _path("alarms/", alarms.Alarms),
    _path("alarms/<int:number>/done/", alarms.AlarmDone),
    _path("alarms/<int:number>/snooze/", alarms.AlarmSnooze),
    _path("schedules/", schedules.Schedules),
    _path("schedules/<int:schedule>/", schedules.OneSchedule),
    _path("usage/", usage.UsageView),
    path("files/<uuid:file>/", files.tool_file, name="tool-file"),
    _path("attachments/", attachments.Attachments, name="attachments"),
    _path("attachments/<uuid:attachment>/", attachments.OneAttachment),
    path("attachments/<uuid:attachment>/content/", attachments.content, name="attachment-content"),
]

urlpatterns = [
    path("v1/tenants/<slug:tenant>/", include(of_tenant)),
    # For callers who have the token of a call, and no scopes.
    path("v1/tenants/<slug:tenant>/pending/<str:token>/", pending_result, name="pending"),
    # Also without the slash, or with more: Django logs addresses that it does not know, and this one holds the token.
    path("v1/tenants/<slug:tenant>/pending/<path:token>", pending_result),
    path("schema/", openapi_pages.schema, name="api-schema"),
    path("docs/", openapi_pages.pages, name="api-docs"),
    # Also without the slash, because people type these two.
    path("schema", openapi_pages.schema),
    path("docs", openapi_pages.pages),
    path("docs/<str:name>", openapi_pages.asset, name="api-docs-asset"),
    # Everything else, so that Django does not redirect URLs without a final slash, which fails for a POST.
    re_path(r"^[\s\S]*\Z", openapi_pages.nothing_here),
]
