"""Fixtures of the tests of brands."""

from tests.contrib.panel.conftest import amys

__all__ = ["amys"]
