"""Fixtures of the tests of exports."""

from tests.api.conftest import alice_calls

__all__ = ["alice_calls"]
