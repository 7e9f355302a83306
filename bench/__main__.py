"""All of it: a table that goes into docs/performance.md."""

import platform

import torch

from bench import attention, bandwidth, cache, decoding, language_model, length, recurrent

print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}, "
      f"{platform.machine()}, Python {platform.python_version()}\n")  # fmt: skip
print("| what | measured | wanted |\n|---|---|---|")
for part in (language_model, recurrent, attention, cache, length, bandwidth, decoding):
    part.main()
