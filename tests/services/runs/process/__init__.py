"""Tests of `assistant/services/runs/process`."""
