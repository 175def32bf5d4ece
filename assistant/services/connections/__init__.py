"""Open websockets and event streams: their limits, their owners, and their end at a shutdown."""
