"""The site: python -m website FOLDER. Pages of the repository and generated reference, readable without a network."""
