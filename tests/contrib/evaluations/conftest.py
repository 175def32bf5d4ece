"""Fixtures that these tests share with those of the control panel."""

from tests.admin.conftest import amys, root

__all__ = ["amys", "root"]
