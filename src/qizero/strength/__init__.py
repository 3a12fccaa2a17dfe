"""Measuring the strength of players: matches with paired openings, Elo with intervals, ladders."""
