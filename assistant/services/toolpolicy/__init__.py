"""Decides which tools a run may use: the catalogue, the switches, and the policy function."""
