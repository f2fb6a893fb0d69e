"""Use cases by noun, without HTTP: what doors call, loops call too."""
