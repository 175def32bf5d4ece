"""The rows of the table, a file for each family."""
