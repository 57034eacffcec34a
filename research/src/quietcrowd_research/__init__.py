"""The papers behind quietcrowd, run again: figures, claims, baselines and bounds."""
