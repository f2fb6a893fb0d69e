"""Who somebody is, and accounts that are provided."""
