"""The games: the catalog of native games and the files in which people keep games (SGF, PSQ, move lists)."""
