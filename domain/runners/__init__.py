"""Which runner may take which job, and how runners stand."""
