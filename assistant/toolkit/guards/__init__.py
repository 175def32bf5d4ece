"""Protection against foreign rows and internal addresses."""
