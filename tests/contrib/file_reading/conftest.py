"""Fixtures of the tests of file reading."""

from tests.services.conftest import counted

__all__ = ["counted"]
