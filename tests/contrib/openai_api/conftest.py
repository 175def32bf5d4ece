"""Fixtures that these tests share with those of the REST API."""

from tests.api.conftest import alice_calls, amy_calls, mallory_calls

__all__ = ["alice_calls", "amy_calls", "mallory_calls"]
