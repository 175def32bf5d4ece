"""Tests of the recovery of runs whose process died."""
