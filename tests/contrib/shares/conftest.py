"""Fixtures of the tests of shared conversations."""

from tests.api.conftest import alice_calls, amy_calls, mallory_calls

__all__ = ["alice_calls", "amy_calls", "mallory_calls"]
