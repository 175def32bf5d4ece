"""What a process has done, for Prometheus."""
