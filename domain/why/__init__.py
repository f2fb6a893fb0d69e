"""Why a job is as it is, in words: the same on every page, in every response, on every command line."""
