"""What measures: `make bench` compares the product with what people would use instead. Never run as tests."""
