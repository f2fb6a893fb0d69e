"""The OpenAPI document: bodies, errors, and examples that are true."""
