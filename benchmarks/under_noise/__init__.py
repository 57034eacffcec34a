"""Parts of the table of truths under noise."""
