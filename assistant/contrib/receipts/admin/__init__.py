"""What the control panel shows of receipts."""
