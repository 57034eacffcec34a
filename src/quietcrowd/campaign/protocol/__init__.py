"""Documents and problems of the campaign API, without web framework and database."""
