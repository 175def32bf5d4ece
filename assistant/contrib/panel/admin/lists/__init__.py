"""What the panel's lists have in common: filters in place, columns to choose, a look at a row, sums and a file."""
