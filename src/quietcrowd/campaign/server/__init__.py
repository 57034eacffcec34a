"""The server as it runs: routes, what is let in, and the work behind them."""
