"""URLs of the REST API."""

from __future__ import annotations

from django.urls import include, path, re_path

from assistant.api import assistants, conversations, end_users, files, openapi_pages, run_events, runs, usage

of_tenant = [
    path("assistants/", assistants.Assistants.as_view()),
    path("assistants/<slug:assistant>/", assistants.OneAssistant.as_view()),
    path("assistants/<slug:assistant>/tools/", assistants.EffectiveTools.as_view()),
    path("assistants/<slug:assistant>/end-user-tokens/", end_users.EndUserTokens.as_view()),
    path("assistants/<slug:assistant>/runs/", run_events.StartRun.as_view(), name="start-run"),
    path("conversations/", conversations.Conversations.as_view()),
    path("conversations/<uuid:thread>/", conversations.OneConversation.as_view()),
    path("conversations/<uuid:thread>/export/", conversations.Export.as_view()),
    path("conversations/<uuid:thread>/messages/", conversations.Messages.as_view()),
    path("conversations/<uuid:thread>/messages/<str:message_id>/feedback/", conversations.MessageFeedback.as_view()),
    path("conversations/<uuid:thread>/runs/", runs.ConversationRuns.as_view()),
    path("runs/<str:run_id>/", runs.OneRun.as_view(), name="run"),
    path("runs/<str:run_id>/events/", run_events.RunEvents.as_view(), name="run-events"),
    path("runs/<str:run_id>/cancel/", runs.CancelRun.as_view()),
    path("runs/<str:run_id>/approvals/", runs.RunApprovals.as_view()),
    path("approvals/", runs.Approvals.as_view()),
    path("usage/", usage.UsageView.as_view()),
    path("files/<uuid:file>/", files.tool_file, name="tool-file"),
]

urlpatterns = [
    path("v1/tenants/<slug:tenant>/", include(of_tenant)),
    path("schema/", openapi_pages.schema, name="api-schema"),
    path("docs/", openapi_pages.pages, name="api-docs"),
    # Also without the slash, because people type these two.
    path("schema", openapi_pages.schema),
    path("docs", openapi_pages.pages),
    path("docs/<str:name>", openapi_pages.asset, name="api-docs-asset"),
    # Everything else, so that Django does not redirect URLs without a final slash, which fails for a POST.
    re_path(r"^[\s\S]*\Z", openapi_pages.nothing_here),
]
