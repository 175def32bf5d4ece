"""What models are sent: kept for some hours where an operator wants it, and logged where the deployment says so."""
