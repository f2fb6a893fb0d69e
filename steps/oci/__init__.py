"""Images of a registry, as far as steps need them: fetched, unpacked, made of a folder, and pushed."""
