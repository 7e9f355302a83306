"""Every benchmark, at a size of seconds: it runs to its end and prints its figures, so that none rots."""

import importlib
import lzma
import re
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pages
import pytest
import tiny
from at_a_port import serving
from trainings import quietly

import regard
from bench import (
    bandwidth,
    cache,
    data,
    decoding,
    engines,
    language_model,
    length,
    measure,
    padding,
    recurrent,
    tatoeba,
)
from bench.engines import BARE, ENGINES, HUGGING_FACE, REGARD, Shape, translator
from regard.page.publish import publish

BENCH = tiny.ROOT / "bench"
BLOCKS = regard.Transformer(width=8, layers=1, heads=2)
CELLS = regard.Recurrent("lstm", width=8, layers=2)
SETTING = decoding.Setting(1, 2, 1.0)


def of_attention(folder: Path) -> None:
    importlib.import_module("bench.attention").main(steps=64)


def of_cache(folder: Path) -> None:
    cache.main(1, BLOCKS, seen=4)


def of_language_model(folder: Path) -> None:
    language_model.main(1, replace(BLOCKS, positions="learned", longest=8))


def of_recurrent(folder: Path) -> None:
    recurrent.main(1, CELLS)


def of_length(folder: Path) -> None:
    length.main(1, lengths=(2, 3), models={"tiny": BLOCKS, "cells": CELLS}, picture=folder / "picture.png")
    assert (folder / "picture.png").stat().st_size > 1000


def of_decoding(folder: Path) -> None:
    shape = Shape("tiny", regard.LanguageModel(CELLS), 9, 3, 4, (REGARD, BARE))
    decoding.compare(shape, [SETTING], 1, decoding.Conditions())


def of_bandwidth(folder: Path) -> None:
    bandwidth.main(1, Shape("tiny", regard.LanguageModel(BLOCKS), 9, 3, 4, (REGARD,)), 1000)


def of_padding(folder: Path) -> None:
    pairs = [line.split("\t") for line in tiny.write_pairs(folder).read_text().splitlines()]
    for side in (0, 1):
        (folder / f"side{side}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    padding.main(str(folder / "side0"), str(folder / "side1"))


def of_page(folder: Path) -> None:
    importlib.import_module("tabs")  # which skips where there is no browser, or fails where one is required
    importlib.import_module("bench.page").main(lengths=(8,), times=1)


def of_published(folder: Path) -> None:
    importlib.import_module("tabs")
    publish(pages.make_runs(folder, ["lstm"]), folder / "site")
    importlib.import_module("bench.published").main(str(folder / "site"), tokens=2)


def translating(folder: Path, name: str, words: int) -> Path:
    """A run of two updates, with a test part whose sources have up to so many words."""
    plan = tiny.recipe(folder, "seq2seq-transformer", steps=2)
    test = folder / "test.tsv"
    lines = [" ".join(["one", "two", "three"][i % 3] for i in range(n + 1)) for n in range(words)]
    test.write_text("".join(f"{line}\t{line}\n" for line in lines))
    quietly(replace(plan, data=replace(plan.data, test=str(test))), folder / name)
    return folder / name


def of_by_length(folder: Path) -> None:
    run = translating(folder, "run", words=20)
    importlib.import_module("bench.by_length").main(folder / "picture.png", [run])
    assert (folder / "picture.png").stat().st_size > 1000


def of_word_error(folder: Path) -> None:
    importlib.import_module("bench.word_error").main("test", str(translating(folder, "run", words=4)), [])


def of_data(folder: Path) -> None:
    packed = folder / "packed"
    for _, (name, _) in data.AS_THEY_ARE.items():
        (packed / name).mkdir(parents=True)
    (packed / "multi30k" / "train.en.gz").write_bytes(b"as it is")
    (packed / "cmudict_g2p").mkdir()
    for part in data.CMUDICT.values():
        with lzma.open(packed / "cmudict_g2p" / f"cmudict-0.7b.{part}.xz", "wt") as file:
            file.write(f"{part.upper()}  T EH1\nBOTH  B OW1 TH\n")
    (packed / "sigmorphon2021_g2p").mkdir()
    (folder / "kor_train.tsv").write_text("가\tk a\n")
    with tarfile.open(packed / "sigmorphon2021_g2p" / "data.tar.xz", "w:xz") as archive:
        archive.add(folder / "kor_train.tsv", "data/low/kor_train.tsv")
    for name, line in (("sst2_phrases.train", "1 good\n"), ("stsa.binary.train", "0 a bad film\n")):
        (packed / "sentences" / f"{name}.xz").write_bytes(lzma.compress(line.encode()))
    for part in ("train", "test"):
        (packed / "sentences" / f"TREC.{part}.all.xz").write_bytes(lzma.compress("3 Où ?\n".encode("latin-1")))
    photographs = packed / "flickr8k"
    photographs.mkdir()
    (folder / "1.jpg").write_bytes(b"a picture")
    with tarfile.open(photographs / "images128.tar", "w") as archive:
        archive.add(folder / "1.jpg", "1.jpg")
    (photographs / "Flickr8k.token.txt.xz").write_bytes(lzma.compress(b"1.jpg#0\tA dog .\n"))
    for part in ("train", "dev", "test"):
        (photographs / f"Flickr_8k.{part}Images.txt").write_text("1.jpg\n2.jpg\n")
    data.main(packed, folder / "data")
    assert (folder / "data/flickr8k/images/1.jpg").read_bytes() == b"a picture"
    assert (folder / "data/flickr8k/captions.txt").read_text() == "1.jpg#0\tA dog .\n"
    assert (folder / "data/flickr8k/train.txt").read_text() == "1.jpg\n", "a picture that is not there is left out"
    assert (folder / "data/sentences/sst2-phrases.train").read_text() == "1 good\n0 a bad film\n"
    assert (folder / "data/sentences/trec.test").read_text(encoding="utf-8") == "3 Où ?\n"
    assert (folder / "data/multi30k/train.en.gz").read_bytes() == b"as it is"
    assert (folder / "data/cmudict/train.tsv").read_text().splitlines()[1] == "B O T H\tB OW1 TH"
    assert "B O T H" not in (folder / "data/cmudict/dev.tsv").read_text(), "a word that was trained on"
    assert (folder / "data/sigmorphon/kor_train.tsv").read_text() == "\u1100 \u1161\tk a\n"


def of_tatoeba(folder: Path) -> None:
    with lzma.open(folder / "fra.txt.xz", "wt", encoding="utf-8") as file:
        file.writelines(f"I can't see {n}.\tJe ne vois pas l'arbre du {n}.\tby\n" for n in range(1001))
    tatoeba.main(str(folder / "fra.txt.xz"), str(folder))
    (line,) = (folder / "tatoeba.train.tsv").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"i can not see \d+ \.\tje ne vois pas le arbre de le \d+ \.", line)


def of_doors(folder: Path) -> None:
    """An LSTM in ONNX; the others want runs or wheels that are not made in seconds."""
    pytest.importorskip("onnxscript", reason="onnxscript is only in the export extra")
    pytest.importorskip("onnxruntime", reason="onnxruntime is only in the export extra")
    (run,) = pages.make_runs(folder, ["lstm"])
    importlib.import_module("bench.doors").main("onnx", str(run.folder.path), "day", "8")


def of_house(folder: Path) -> None:
    importlib.import_module("bench.house").main([tiny.ROOT])


def asked(folder: Path, name: str, *words: str) -> None:
    """A benchmark that asks a server, as the process of its own that it is."""
    made = pages.make_runs(folder, ["transformer-lm", "lstm", "transformer-seq2seq", "classifier"])
    with serving({run.folder.path.name: run for run in made}) as there:
        subprocess.run([sys.executable, "-m", f"bench.{name}", str(there.port), *words], cwd=tiny.ROOT, check=True)


def of_load(folder: Path) -> None:
    asked(folder, "load", "--count", "60", "--rate", "100", "--every", "0.1", "--save", str(folder / "seen"))
    assert (folder / "seen.csv").read_text().startswith("seconds,resident_memory_bytes")
    assert (folder / "seen.png").stat().st_size > 1000


def of_fuzz_server(folder: Path) -> None:
    asked(folder, "fuzz_server", "--count", "400")


def of_alike(folder: Path) -> None:
    runs = "transformer-lm-run=write", "transformer-seq2seq-run=en:fr"
    asked(folder, "alike", "--runs", *runs, "--each", "8", "--count", "60", "--clients", "9", "--longest", "6")


def of_streams(folder: Path) -> None:
    asked(folder, "streams", "--model", "transformer-lm-run", "--streams", "1", "3", "--tokens", "5")


APART = {"digests", "digest_work", "peer_servers"}  # minutes of work on two trees; servers that others wrote
FIGURES = {
    "bandwidth": [
        "float32, .*weights read by a step | [0-9.]+ of [0-9.]+ GB/s: [0-9]+%|there is no native engine here"
    ],
    "attention": ["tokens, 8 heads of 64, causal: memory of the whole process | [0-9,]+ MB", "would be | 0 MB"],
    "cache": ["growing the cache costs of it | [0-9.]+%", "concatenating instead would cost | [0-9.]+%"],
    "language_model": ["share of the matrix peak .* | [0-9]+%", "costs | -?[0-9]+%", "GPT-2 | ([0-9.]+×|.* installed)"],
    "recurrent": ["against bare nn.LSTM | [0-9.]+×", "by the equations .* | [0-9.]+×"],
    "length": ["tiny, the next token after 2 | [0-9.]+ ms; reading everything again [0-9.]+ ms"],
    "decoding": ["regard against | bare nn.LSTM [0-9.]+×", "tokens equal to regard's | bare nn.LSTM 100.0%"],
    "padding": ["padding in batches of 2,048 tokens | [0-9.]+% | [0-9.]+% in file order"],
    "page": ["8 +[0-9.]+ MB +[0-9]+ ms +[0-9]+ ms"],
    "published": ["lstm-run +3,771 +0.02 MB +[0-9]+ ms +[0-9]+ ms +[0-9,]+"],
    "by_length": ["run up to 8: [0-9.]+ .*19 and more: [0-9.]+"],
    "word_error": ["test, 4 words: WER [0-9.]+, PER [0-9.]+"],
    "load": ["/v1/completions | 200 | [0-9]+", "/v1/completions | 400 | [0-9]+", r"\A(?![\s\S]*lost)"],
    "streams": [r"1 | regard | [0-9,]+ .* | 0 |", r"3 | regard | [0-9,]+ .* | 0 |"],
    "alike": ["transformer-lm-run | the same bytes | [0-9]+", r"\A(?![\s\S]*(lost|other bytes|status))"],
    "fuzz_server": ["answered | 200 | [0-9]+", "answered | 400 | [0-9]+", r"\A(?![\s\S]*answered | 5)"],
    "house": ["code lines"],
    "doors": ["onnx: [0-9]+ characters, the same; regard: "],
    "data": [],
    "tatoeba": [],
}


def with_main() -> list[str]:
    """The files of bench/ that do something when they are run."""
    named = {path.stem for path in BENCH.glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")}
    return sorted(named - APART)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", with_main())
def test_it_prints_its_figures(name, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(decoding, "PAUSE", 0.0)
    monkeypatch.setattr(decoding, "TURN", 0.0)
    monkeypatch.setattr(language_model, "matrix_product", lambda: measure.matrix_product(64))
    globals()[f"of_{name}"](tmp_path)
    told = capfd.readouterr().out
    for figure in FIGURES[name]:
        assert re.search(figure.replace(" | ", r" \| "), told), told


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize(
    "settings", [translator(1, 8, 2), regard.LanguageModel(replace(BLOCKS, positions="learned", longest=16, inner=32))]
)
def test_every_engine_answers_alike(settings, beams, tmp_path):
    for peer in ("ctranslate2", "transformers"):
        pytest.importorskip(peer, reason=f"{peer} is only in the bench extra")
    shape = Shape("tiny", settings, 20, 3, 4, engines.TRANSFORMERS)
    engines.export(shape, tmp_path / "weights")
    fed = shape.fed(2)
    wanted = ENGINES[REGARD](shape, tmp_path)(fed, beams, 4)
    for engine in (HUGGING_FACE, engines.CTRANSLATE2):
        assert ENGINES[engine](shape, tmp_path / "weights")(fed, beams, 4) == wanted, engine
    for engine in (engines.REGARD_INT8, engines.CTRANSLATE2_INT8):
        assert [len(row) for row in ENGINES[engine](shape, tmp_path / "weights")(fed, beams, 4)] == [4, 4]
