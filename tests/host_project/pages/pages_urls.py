"""The assistant, and nothing else."""

from django.urls import include, path

urlpatterns = [path("assistant/", include("assistant.urls"))]
