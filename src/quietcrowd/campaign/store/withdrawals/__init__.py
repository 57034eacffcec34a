"""The journal of withdrawals: its entries, its copies, and the id it shares with its database."""
