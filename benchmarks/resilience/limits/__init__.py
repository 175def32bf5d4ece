"""The parts of the check `limits`, one module for each kind of limit."""
