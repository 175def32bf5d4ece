"""One module per check; being in this folder registers it. What it must hold: `benchmarks.resilience.check.Check`."""
