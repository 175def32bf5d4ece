"""URLs of the REST API."""

from __future__ import annotations

from django.urls import include, path, re_path

from assistant.api import (
    assistants,
    attachments,
    conversations,
    documents,
    files,
    run_events,
    runs,
    usage,
)
from assistant.api.addresses import tenant_path
from assistant.api.authentication import nothing_here

of_tenant = [
    tenant_path("assistants/", assistants.Assistants),
    tenant_path("assistants/<slug:assistant>/", assistants.OneAssistant),
    tenant_path("assistants/<slug:assistant>/tools/", assistants.EffectiveTools),
    tenant_path("assistants/<slug:assistant>/runs/", run_events.StartRun, name="start-run"),
    tenant_path("conversations/", conversations.Conversations, "conversations"),
    tenant_path("conversations/<uuid:thread>/", conversations.OneConversation),
    tenant_path("conversations/<uuid:thread>/messages/", conversations.Messages),
    tenant_path("conversations/<uuid:thread>/shown/", conversations.Shown),
    tenant_path("conversations/<uuid:thread>/messages/<str:message_id>/feedback/", conversations.MessageFeedback),
    tenant_path("conversations/<uuid:thread>/runs/", runs.ConversationRuns),
    tenant_path("runs/<str:run_id>/", runs.OneRun, name="run"),
    tenant_path("runs/<str:run_id>/events/", run_events.RunEvents, name="run-events"),
    tenant_path("runs/<str:run_id>/cancel/", runs.CancelRun),
    tenant_path("runs/<str:run_id>/approvals/", runs.RunApprovals),
    tenant_path("approvals/", runs.Approvals),
    tenant_path("usage/", usage.UsageView),
    path("files/<uuid:file>/", files.tool_file, name="tool-file"),
    tenant_path("attachments/", attachments.Attachments, name="attachments"),
    tenant_path("attachments/<uuid:attachment>/", attachments.OneAttachment),
    path("attachments/<uuid:attachment>/content/", attachments.content, name="attachment-content"),
    tenant_path("documents/", documents.Documents),
    tenant_path("documents/<int:document>/", documents.OneDocument),
]

urlpatterns = [
    path("v1/tenants/<slug:tenant>/", include(of_tenant)),
    # Everything else, in the API's own form.
    re_path(r"^[\s\S]*\Z", nothing_here),
]
