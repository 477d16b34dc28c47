"""Sample scenes: built by `build.py`, shown by `demo.py`. Not part of the extension."""
