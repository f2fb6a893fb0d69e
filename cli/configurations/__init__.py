"""Commands that read a configuration without a server: `lint` and `plan`."""
