"""Tests of checks with hostile questions."""
