"""Fixtures of the tests of invitations."""

from tests.contrib.panel.conftest import amys, root

__all__ = ["amys", "root"]
