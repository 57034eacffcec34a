"""Files of annotation and survey platforms, one module per format, which is loaded on a match."""
