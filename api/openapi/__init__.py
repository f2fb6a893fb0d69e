"""The OpenAPI document of the REST API: what FastAPI cannot know of it, and examples."""
