"""Fixtures of the tests of sent requests."""

from tests.contrib.panel.conftest import amys, root

__all__ = ["amys", "root"]
