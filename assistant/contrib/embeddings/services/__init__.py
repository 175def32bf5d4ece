"""Encoders, the vectors of passages, and the ranking that search uses."""
