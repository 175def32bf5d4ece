"""What the control panel shows of the health of providers."""
