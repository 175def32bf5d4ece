"""The addresses of the project in which reference calls are tenants' runs."""

from django.urls import include, path

urlpatterns = [path("", include("assistant.urls"))]
