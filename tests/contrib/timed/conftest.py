"""Fixtures of the tests of alarms and schedules."""

from tests.api.conftest import alice_calls, amy_calls, mallory_calls

__all__ = ["alice_calls", "amy_calls", "mallory_calls"]
