"""Receipts of runs: making, storing and reading them."""
