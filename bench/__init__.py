"""Speed and memory, as ratios against a named peer in the same run. `python -m bench` prints them all."""
