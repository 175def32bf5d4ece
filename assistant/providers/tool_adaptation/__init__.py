"""Tools as a wire format takes them: adapted before they are sent, and left out where a provider refuses them."""
