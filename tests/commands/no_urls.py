"""A URL configuration from which the assistant was left out."""

urlpatterns: list[object] = []
