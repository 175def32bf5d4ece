"""Tests of the tools over a project's own models."""
