"""One turn of a chat, without Django, the network or a provider's package."""
