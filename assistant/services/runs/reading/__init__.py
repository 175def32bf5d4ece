"""Reads what clients are shown of runs and threads: snapshots, results, details of answers, notices."""
