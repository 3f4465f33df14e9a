"""Published numbers of the paper, as data."""
