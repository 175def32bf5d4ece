"""The app's addresses: exports, in the chat and in the REST API, the import of the chat, and one's own data."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.conversation_exports import api, own_data, pages

urlpatterns = [
    path("t/<slug:tenant>/c/<uuid:thread>/export/", pages.export, name="export-conversation"),
    path("t/<slug:tenant>/own-data/", own_data.own_data, name="own-data"),
    path("t/<slug:tenant>/own-data/conversations.zip", pages.export_all, name="export-conversations"),
    path("t/<slug:tenant>/import/", pages.import_export, name="import-conversation"),
    path(OF_TENANT, include([tenant_path("conversations/<uuid:thread>/export/", api.Export)])),
]
