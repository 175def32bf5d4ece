"""Evaluations: replayed runs, comparison, judgement."""
