"""The rules of the seam between SQL and Temporal: which tests hold them, shown by taking each rule out."""
