"""Open websockets and event streams: how many, whose, and their end at a shutdown."""
