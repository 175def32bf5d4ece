"""What the control panel shows of the deployment."""
