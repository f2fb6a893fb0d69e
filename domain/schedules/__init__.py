"""When schedules tick, and what becomes of a tick."""
