"""Cloud files: formats, reading and writing."""
