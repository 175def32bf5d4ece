"""What pages of the control panel share: rooms, the picker of tenants, charts, links that other apps add."""
