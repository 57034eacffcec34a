"""Memos: repeated reports from a secret key, so that sending again reveals nothing new."""
