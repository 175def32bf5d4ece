"""The page of quality in the control panel. Without that app there is no page; the sums and warnings are kept."""
