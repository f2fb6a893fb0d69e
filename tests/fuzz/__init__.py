"""The compiler under random configurations: mutated ones (`make fuzz`), and right ones (`tests.fuzz.valid`)."""
