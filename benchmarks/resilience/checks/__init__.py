"""One module for each check, found by being in this folder; `benchmarks.resilience.check.Check` is its interface."""
