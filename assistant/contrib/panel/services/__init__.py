"""What the pages of the control panel change and read, apart from reports."""
