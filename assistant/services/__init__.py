"""What the product does, as verbs with keyword arguments; every edge enters here."""
