"""What a campaign takes, answers and refuses: documents and problems. No web, no database."""
