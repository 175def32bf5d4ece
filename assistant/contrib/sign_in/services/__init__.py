"""Who has to prove a second factor, factors, and accounts of people who sign in elsewhere."""
