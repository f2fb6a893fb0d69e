"""Steps: what they are made of, what their expressions see, what they give. Nothing here runs anything."""
