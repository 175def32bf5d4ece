"""Sums of days, which reports read: how they are made and kept."""
