"""What a million tokens of a model cost, by provider and model, with the days from which prices hold."""
