"""Tests of calls whose results come later."""
