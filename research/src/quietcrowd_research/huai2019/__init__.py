"""Huai et al., IJCAI 2019: synthetic claims of PrisCrowd."""
