"""A generator of 3-D shapes."""
