"""The addresses of the documentation, below the mount of `assistant.urls`."""

from __future__ import annotations

from django.urls import path

from assistant.contrib.docs import views
from assistant.contrib.docs.apps import describes_rest

urlpatterns = [
    path("docs/", views.page, name="docs"),
    path("docs/asyncapi.json", views.asyncapi, name="docs-asyncapi"),
    path("docs/search/", views.search, name="docs-search"),
    path("docs/images/<str:name>", views.image, name="docs-image"),
    path("docs/<slug:slug>/", views.page, name="docs-page"),
]

if describes_rest():
    from assistant.contrib.docs import rest_pages

    urlpatterns += [
        path("api/schema/", rest_pages.schema, name="api-schema"),
        path("api/docs/", rest_pages.pages, name="api-docs"),
        path("api/docs/<str:name>", rest_pages.asset, name="api-docs-asset"),
    ]
