"""How strong players are: matches with paired openings, Elo with intervals, ladders."""
