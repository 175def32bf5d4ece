"""Tests of assistant.services.bundles."""
