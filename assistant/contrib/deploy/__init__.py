"""Files for the programs around a deployment, and what is missing in it."""
