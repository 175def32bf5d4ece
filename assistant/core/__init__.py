"""The pure room: a whole chat runs here, with no Django, no network and no provider's package."""
