"""How what Perdure does grows with what it has kept: a year of a large installation beside a small one."""
