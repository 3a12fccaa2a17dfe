"""The page's server: games in play behind a WebSocket and a small HTTP API, and the page itself as static files."""
