"""The control panel: an admin site with rooms, boards and reports instead of Django's plain pages of models."""
