"""What the log of a job says besides its text: lines, sections, colours, errors. Pure functions of its bytes."""
