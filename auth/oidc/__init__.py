"""Signing in at an OpenID Connect provider: the client's side of the authorization code flow."""
