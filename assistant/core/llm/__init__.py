"""What a language model is to the core: the `Model` protocol, typed output and what is sent."""
