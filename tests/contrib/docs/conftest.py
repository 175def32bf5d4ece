from __future__ import annotations

from tests.api.conftest import alice_calls

__all__ = ["alice_calls"]
