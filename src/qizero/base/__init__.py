"""What every other package may use: atomic files, events, results files, the version."""
