"""What a server takes and answers over HTTP: documents, problems, states. No database."""
