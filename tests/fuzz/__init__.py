"""Coverage-guided fuzzing: `make fuzz`. Its short form runs with the tests."""
