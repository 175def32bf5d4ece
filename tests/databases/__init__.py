"""Test databases: where they come from."""
