"""From a text to values that know their places, and checking single values."""
