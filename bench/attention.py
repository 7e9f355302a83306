"""Causal attention over 16,384 tokens: the T × T weights must never be in memory."""

import subprocess
import sys
from pathlib import Path

from bench.measure import row

STEPS, HEADS, WIDTH = 16_384, 8, 512


def one_pass(steps: int) -> None:
    """In a process of its own: prints the most memory that it ever had, torch and all, in megabytes."""
    import torch

    from regard.layers.attention import HeadShape, SelfAttention
    from regard.layers.history import AttentionInputs, Mask

    layer = SelfAttention(WIDTH, HeadShape.of(WIDTH, HEADS))
    x = torch.randn(1, steps, WIDTH)
    with torch.no_grad():
        layer(x, None, AttentionInputs(Mask(causal=True), Mask()))
    # getrusage would count what the parent had when it forked; this is the process's own
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)


def main(steps: int = STEPS) -> None:
    child = subprocess.run(
        [sys.executable, "-c", f"from bench.attention import one_pass; one_pass({steps})"],
        capture_output=True,
        text=True,
        check=True,
    )
    weights = HEADS * steps * steps * 4 // 2**20
    row(
        f"attention over {steps:,} tokens, {HEADS} heads of {WIDTH // HEADS}, causal: memory of the whole process",
        f"{int(child.stdout):,} MB",
        "< 1,000 MB",
    )
    row("  the T × T weights alone would be", f"{weights:,} MB", "–")


if __name__ == "__main__":
    main()
