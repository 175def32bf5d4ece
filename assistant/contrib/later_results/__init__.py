"""Optional app: tools whose results come later, from outside, and runs that go on with them."""
