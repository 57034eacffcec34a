"""What a worker has spent, may still spend, and agrees to. Above mechanisms, which know it not."""
