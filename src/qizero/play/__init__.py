"""Games in a terminal and over the Gomocup protocol."""
