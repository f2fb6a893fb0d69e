"""The runner: takes jobs over HTTP and runs them on machines."""
