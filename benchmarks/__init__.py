"""Measurements: `make bench` compares the product with alternatives, `make resilience` injects faults."""
