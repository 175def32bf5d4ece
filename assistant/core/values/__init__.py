"""The values of a turn: messages, events, settings, limits, prices, deadlines."""
