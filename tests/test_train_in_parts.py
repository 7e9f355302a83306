"""Training is the same in one piece, in parts or in processes, and nearly so in 16 bits."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from safetensors.torch import load_file
from tiny import differences, log_of, recipe
from trainings import FAMILIES, held_out_losses, killed_after, quietly, without_dropout

from regard.folder import Folder
from regard.training.loop import train
from regard.training.parallel import precision_of

HAS_16_BITS = precision_of("bfloat16", torch.device("cpu")) == torch.bfloat16

# In parts, in processes


@pytest.mark.parametrize("name", ["lm-lstm", "lm-transformer", "seq2seq-lstm-attention", "seq2seq-transformer"])
@pytest.mark.parametrize("parts", [4, 24])
def test_a_batch_in_parts_is_the_same_update(name, parts, tmp_path):
    plan = without_dropout(recipe(tmp_path, name, steps=6, evaluate=6))
    quietly(plan, tmp_path / "whole")
    quietly(replace(plan, train=replace(plan.train, accumulate=parts)), tmp_path / "parts")
    whole, divided = (load_file(tmp_path / path / "model.safetensors") for path in ("whole", "parts"))
    for key in whole:
        # A key's bias moves no score: its gradient is nothing but rounding, which Adam makes large.
        if not key.endswith(("query_key_value.bias", "key_value.bias")):
            torch.testing.assert_close(divided[key], whole[key], rtol=1e-3, atol=2e-5)
    assert held_out_losses(tmp_path / "parts") == pytest.approx(held_out_losses(tmp_path / "whole"), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lm-lstm", {}),
        ("seq2seq-transformer", {"optimiser": "muon"}),
        ("lm-transformer", {"optimiser": "muon", "parallel": "fsdp", "consistency": 1.0, "cut": 0.0}),
    ],
)
def test_two_processes_train_as_one(name, settings, tmp_path):
    """Two processes half-way, then one to the end: what each remembered is there for the other.

    Pairs under AdamW alone are shared out by the captions' test.
    """
    plan = without_dropout(recipe(tmp_path, name, steps=16, schedule="constant", rate=0.003, **settings))
    half = replace(plan, train=replace(plan.train, steps=8))
    quietly(plan, tmp_path / "alone")
    path = tmp_path / "half.toml"
    Folder(tmp_path).write_config(half)
    (tmp_path / "config.toml").rename(path)
    done = tiny.in_two_processes("train", path, "--folder", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    assert log_of(tmp_path / "both")[-1]["step"] == 8
    quietly(plan, tmp_path / "both")
    near = 1e-4 if "optimiser" in settings else 1e-5  # muon rounds to 16 bits
    assert held_out_losses(tmp_path / "both") == pytest.approx(held_out_losses(tmp_path / "alone"), rel=near)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted where Linux names them")
def test_no_thread_of_several_processes_outlives_their_training(tmp_path):
    """One that is left takes Python's lock while Python ends, now and then, which aborts the process."""
    settings = {"optimiser": "muon", "parallel": "fsdp"}  # ways of torch's that hold on to what joins the processes
    Folder(tmp_path).write_config(recipe(tmp_path, "lm-transformer", steps=1, **settings))
    script = tmp_path / "train_and_count.py"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from regard.cli import main\n"
        "if main(['train', *sys.argv[1:]]) == 0:\n"
        "    print(*{path.read_text().strip() for path in Path('/proc/self/task').glob('*/comm')}, sep='\\n')\n",
        encoding="utf-8",
    )
    done = tiny.in_two_processes(tmp_path / "config.toml", "--folder", tmp_path / "both", program=[script])
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "gloo" not in done.stdout


# In 16 bits


@pytest.mark.parametrize("name", FAMILIES)
def test_16_bits_learn_as_much_and_go_on_exactly(name, tmp_path):
    """What is carried and kept is 32 bits wide, so a checkpoint holds it all."""
    plan = recipe(tmp_path, name, mixed_precision="bfloat16")
    quietly(plan, tmp_path / "whole")
    killed_after(7, plan, tmp_path / "broken")
    quietly(None, tmp_path / "broken")
    assert differences(tmp_path / "whole", tmp_path / "broken") == []
    quietly(recipe(tmp_path, name), tmp_path / "wide")
    rough, exact = held_out_losses(tmp_path / "whole"), held_out_losses(tmp_path / "wide")
    assert (rough != exact) == HAS_16_BITS
    assert rough == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(
    ("has", "may_use", "found"),
    [(True, "AVX512", torch.bfloat16), (True, "AVX2", torch.float32), (False, "AVX512", torch.float32)],
)
def test_16_bits_only_where_the_processor_has_them(has, may_use, found, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: may_use)
    assert precision_of("auto", torch.device("cpu")) == found
    assert precision_of("bfloat16", torch.device("cpu")) == found
    assert precision_of("float32", torch.device("cpu")) == torch.float32


@pytest.mark.parametrize("has", [True, False])
def test_16_bits_that_a_processor_lacks_are_said_to_be_32(has, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has and HAS_16_BITS)
    train(recipe(tmp_path, "lm-lstm", mixed_precision="bfloat16", steps=1), tmp_path / "run")
    told = "cpu has no bfloat16 of its own: computing in float32, which is faster here\n" in capsys.readouterr().err
    assert told != (has and HAS_16_BITS)


# Memory


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is kept or not as the system likes")
def test_freed_memory_is_kept_for_the_next_tensor():
    """In a process of its own: the setting is the process's, and stays."""
    code = (
        "import resource, torch; from regard.training.allocator import keep_freed_memory; keep_freed_memory(0)\n"
        "fill = lambda: torch.ones(20_000_000).sum()\n"
        "for _ in range(20): fill()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(5): fill()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=tiny.environment()
    )
    # At first the allocator tries other places, up to ten; handed back, all five would ask for their pages again.
    assert int(done.stdout) < 2.5 * 20_000_000 * 4 / 4096
