"""Networks: their architecture, the network in torch, its files, and evaluators on every runtime."""
