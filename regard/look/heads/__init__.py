"""What the heads of self-attention look at."""
