"""Everything that chooses actions: one protocol, one driver of the C++ search, and the specs that name players."""
