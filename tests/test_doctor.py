"""`regard doctor`, `--engine` and `--threads`: what answers, and who says so."""

import re

import pytest
import torch
import typed

import regard
from regard.engine import building
from regard.engine import library as libraries
from regard.engine.native import Native

run, said, refused = typed.run, typed.said, typed.refused


@pytest.fixture
def _no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(building, "COMPILERS", ("no-such-compiler",))
    monkeypatch.setattr(libraries, "BUILT", tmp_path)
    libraries.library.cache_clear()
    yield
    libraries.library.cache_clear()


@pytest.fixture(scope="module")
def _engine():
    try:
        libraries.library()
    except building.NoLibrary as why:
        pytest.skip(f"no native engine here: {why}")


def test_the_machine_in_words(said):
    code, out, err = said("doctor")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["machine", "torch", "compiler", "native"]
    assert re.search(rf"torch +{re.escape(torch.__version__)}, {torch.get_num_threads()} thread", out)


@pytest.mark.usefixtures("_engine")
def test_a_run_in_words(run, said):
    told = said("doctor", run("pairs-2"))[1]
    assert re.search(r"native +ready, for ", told)
    assert re.search(r"answers +native engine, .*: one call for each step, which reads [0-9.]+ MB of weights", told)
    told = said("doctor", run("pairs"))[1]
    assert re.search(r"answers +by torch all the same: a recurrent encoder", told)


@pytest.mark.usefixtures("_no_compiler")
def test_without_a_compiler(run, said, refused):
    told = said("doctor", run("pairs-2"))[1]
    assert "compiler  none (c++, g++ or clang++ would be taken, or what CXX names)" in told
    assert "native    not here, and answers come from torch: there is no C++ compiler to build it with" in told
    assert "answers   torch: there is no C++ compiler to build it with" in told
    assert said("translate", run("pairs-2"), given="one two\n")[0] == 0
    assert refused("translate", run("pairs-2"), "--engine", "native", given="one two\n") == (
        "the native engine cannot answer here: there is no C++ compiler to build it with (c++, g++ or clang++); "
        "leave --engine out, or use --engine torch"
    )


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize("name", ["pairs", "pairs-2"])
def test_every_engine_translates_alike(name, run, said):
    given = "one two\nthree one two\n"
    native = said("translate", run(name), "--engine", "native", "--threads", torch.get_num_threads(), given=given)
    assert native == said("translate", run(name), "--engine", "torch", given=given)
    assert isinstance(regard.load(run(name)).answering, Native)
    assert not isinstance(regard.load(run(name), engine="torch").answering, Native)


@pytest.mark.usefixtures("_engine")
def test_threads_are_a_number(run, said, refused):
    before = torch.get_num_threads()
    try:
        assert said("write", run("lm-learned"), "--threads", 1, "--length", 3, given="day")[0] == 0
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert "threads" in refused("write", run("lm-learned"), "--threads", -1)
