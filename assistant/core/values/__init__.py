"""Frozen values that travel through a turn: messages, events, limits, prices, deadlines."""
