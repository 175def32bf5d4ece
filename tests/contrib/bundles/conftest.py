"""Fixtures that these tests share with those of the control panel."""

from tests.contrib.panel.conftest import amys, root

__all__ = ["amys", "root"]
