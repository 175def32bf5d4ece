"""Whether anything is lost, and whether anybody gets in: `make resilience`, described in docs/resilience.md."""
