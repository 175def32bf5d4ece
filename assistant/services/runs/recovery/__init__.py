"""Recovers runs whose process died or stopped: they go on in this process, or end with what is known of them."""
