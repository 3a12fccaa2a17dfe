"""Measuring the speed of rules, search, self-play and networks, also of other programs."""
