"""Named methods with the settings of the paper."""
