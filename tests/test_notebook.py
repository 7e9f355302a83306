"""A notebook run by a real kernel: training shows one block, pictures stand inside."""

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not here")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not here")
pytest.importorskip("ipykernel", reason="ipykernel is not here")

TRAIN = """
import regard
words = ("one", "two", "three", "four", "five")
pairs = [(f"{a} {b}", f"{b} {a}") for a in words for b in words]
few = {"train.steps": 12, "train.batch": 100, "train.evaluate": 6, "text.kind": "words", "data.share": 0.2}
run = regard.train(pairs, "rnn", "runs/swap", settings=few)
"""
STOPPED = """
import os, pathlib, signal, threading, time
def press():
    while not pathlib.Path("runs/long/log.jsonl").exists():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
regard.train(pairs, "rnn", "runs/long", settings={**few, "train.steps": 100_000})
"""


@pytest.mark.filterwarnings("ignore")
def test_a_real_kernel_trains_and_shows_pictures_inside(tmp_path):
    cells = [TRAIN, "run", 'regard.show(run, "one two")', STOPPED]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells])
    client = nbclient.NotebookClient(book, timeout=300, allow_errors=True, resources={"metadata": {"path": tmp_path}})
    client.execute()
    trained, shown, picture, stopped = (cell.outputs for cell in book.cells)
    blocks = [output for output in trained if output.output_type == "display_data"]
    assert len(blocks) == 1, trained
    block = blocks[0].data["text/html"]
    assert "step 12 of 12" in block
    assert " left</div>" not in block, "it is done"
    assert ">  source  one" in block, "examples stand below each other"
    assert shown[0].data["text/plain"].startswith("translator, ")
    assert "image/png" in picture[0].data
    assert stopped[-1].ename == "KeyboardInterrupt"
    assert "regard.train(run='runs/long')" in stopped[-1].evalue
    assert (tmp_path / "runs/long/checkpoint.safetensors").exists()
    nbformat.write(book, tmp_path / "run.ipynb")
