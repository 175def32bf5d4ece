"""The project's own app, which has nothing to do with the assistant's tools."""

HAMMERS = 3
