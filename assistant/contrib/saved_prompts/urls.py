"""The app's addresses: the page of a member's saved prompts, and the REST API."""

from __future__ import annotations

from django.urls import include, path

from assistant.api.addresses import OF_TENANT, tenant_path
from assistant.contrib.saved_prompts import api, pages

urlpatterns = [
    path("t/<slug:tenant>/prompts/", pages.prompts, name="prompts"),
    path("t/<slug:tenant>/prompts/<int:saved_prompt>/", pages.prompt, name="prompt"),
    path(
        OF_TENANT,
        include(
            [
                tenant_path("saved-prompts/", api.SavedPrompts, name="saved-prompts"),
                tenant_path("saved-prompts/<int:saved_prompt>/", api.OneSavedPrompt),
                tenant_path("saved-prompts/<int:saved_prompt>/uses/", api.SavedPromptUses),
            ]
        ),
    ),
]
