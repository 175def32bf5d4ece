"""Tests of the pages about checks."""
