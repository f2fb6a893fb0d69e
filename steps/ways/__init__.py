"""Ways to a step runner that stands elsewhere, one module each: each opens streams of bytes to a proxy there."""
