"""Fixtures of the tests of results that come later."""

from tests.contrib.panel.conftest import amys

__all__ = ["amys"]
