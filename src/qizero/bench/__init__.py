"""Speed measurements of rules, search, self-play and networks, with other programs for comparison."""
