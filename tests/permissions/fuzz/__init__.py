"""A fuzzer of authorization: random acts and calls, held against a small model of who may what."""
