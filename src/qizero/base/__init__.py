"""Used by every other package: atomic files, events, result files, consoles, the version."""
