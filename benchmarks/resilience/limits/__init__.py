"""The parts of the check of limits."""
