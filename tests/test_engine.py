"""The native engine is the eager model: its laws, over every model of the zoo, on every level of instructions here."""

import ast
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from asserting import never_writes
from torch import Tensor
from zoo import MODELS, TRANSDUCERS, VOCABULARY, WRITES, begin, make, one_of, source_for, tokens

import regard
from regard import Model, Source, State, UserError, select
from regard.decode.beam import BeamSearch, beam
from regard.engine import building
from regard.engine import library as libraries
from regard.engine.building import Level, NoLibrary, compiled, levels
from regard.engine.choose import account, prepare
from regard.engine.library import Library, levels_here
from regard.engine.native import Native
from regard.layers.state import map_state
from regard.models.ensemble import Ensemble

RELATIVE = {"lm-transformer-relative", "seq2seq-transformer-as-t5"}
# These answer by torch
ASIDE = {"lm-transformer-additive", *RELATIVE, *TRANSDUCERS, *(MODELS.keys() - WRITES.keys())}
NATIVE = [name for name in MODELS if name not in ASIDE]
HERE = levels_here()
each_model = pytest.mark.parametrize("name", NATIVE)
each_level = pytest.mark.parametrize("level", HERE, ids=lambda level: level.name)


def loaded(level: Level) -> Library:
    try:
        return Library(compiled(level, libraries.cache_folder()), level)
    except NoLibrary as why:
        pytest.skip(f"no native engine here: {why}")


@pytest.fixture(scope="module")
def best() -> Library:
    return loaded(HERE[0])


def pair(name: str, library: Library) -> tuple[Model, Native]:
    model = make(name, torch.float32)
    return model, Native(model, library).eval()


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def by_steps(model: Model, fed: Tensor, state: State) -> tuple[Tensor, State]:
    scores = []
    for token in fed.unbind(1):
        one, state = model.step(token, state)
        scores.append(one)
    return torch.stack(scores, 1), state


@pytest.mark.parametrize("name", MODELS)
def test_the_engine_says_which_models_it_knows(name, best):
    model = make(name, torch.float32)
    prepared = prepare(model)
    assert isinstance(prepared, Native) == (name not in ASIDE)
    assert prepare(model, "torch") is model
    assert account(prepared)[0].startswith("native engine" if name not in ASIDE else "torch: it does not know ")


@each_level
@each_model
@torch.no_grad()
def test_10_whole_passes_and_steps_are_those_of_the_eager_model(name, level):
    model, native = pair(name, loaded(level))
    source, fed = source_for(name, 3), tokens(3, 9)
    expected, _ = model(fed, model.start(source, batch=3))
    state = native.start(source, batch=3)
    close(native(fed, state)[0], expected)
    close(native.prefill(fed, state)[0], expected[:, -1])
    close(by_steps(native, fed, state)[0], expected)
    first, middle = native(fed[:, :4], state)
    close(torch.cat([first, native(fed[:, 4:], middle)[0]], 1), expected)


@each_model
@torch.no_grad()
def test_nothing_of_a_step_is_handed_over(name, best, monkeypatch):
    model, native = pair(name, best)
    state = native.start(source_for(name, 2), batch=2)
    _, state = native.prefill(tokens(2, 3), state)
    for method in ("forward", "prefill"):
        monkeypatch.setattr(type(model), method, lambda *_: pytest.fail("handed over"))
    native.step(tokens(2, 1)[:, 0], state)


@each_model
@torch.no_grad()
def test_states_go_back_and_forth_between_both_engines(name, best):
    model, native = pair(name, best)
    source, fed = source_for(name, 2), tokens(2, 8)
    expected, _ = by_steps(model, fed, model.start(source, batch=2))
    state, scores = native.start(source, batch=2), []
    for t, token in enumerate(fed.unbind(1)):
        one, state = (native if t % 3 else model).step(token, state)
        scores.append(one)
    close(torch.stack(scores, 1), expected)


@each_model
@torch.no_grad()
def test_3_a_state_is_never_written_to(name, best):
    _, native = pair(name, best)
    fed = tokens(2, 4)
    _, state = native(fed, begin(native, name, 2))
    _, state = native.step(fed[:, 0], state)
    never_writes(native, fed[:, 1], state)


@each_model
@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 1, 0], [2], []])
@torch.no_grad()
def test_4_select_commutes_with_step(name, rows, best):
    _, native = pair(name, best)
    rows = torch.tensor(rows, dtype=torch.long)
    _, state = native(tokens(3, 4), begin(native, name, 3))
    token = tokens(3, 1)[:, 0]
    scores, _ = native.step(token, state)
    chosen, _ = native.step(token[rows], select(state, rows))
    assert chosen.shape == (len(rows), VOCABULARY)
    close(scores[rows], chosen)


@each_model
@torch.no_grad()
def test_5_padding_changes_nothing(name, best):
    model, native = pair(name, best)
    keep = torch.tensor([[1, 0, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]], dtype=torch.bool)
    source, fed, more = source_for(name, 3, keep.flip(1) | torch.eye(3, 6).bool()), tokens(3, 6), tokens(3, 3)
    expected, state = model(fed, model.start(source, batch=3), keep)
    found, mine = native(fed, native.start(source, batch=3), keep)
    close(found[keep], expected[keep])
    close(by_steps(native, more, mine)[0], by_steps(model, more, state)[0])
    close(native(more, mine)[0], model(more, state)[0])


@each_model
@torch.no_grad()
def test_11_a_row_does_not_depend_on_its_neighbours_bit_for_bit(name, best):
    """Every output adds up its products in one order, however many rows there are."""
    _, native = pair(name, best)
    source, fed = source_for(name, 7), tokens(7, 5)
    state = native.start(source, batch=7)
    together, _ = by_steps(native, fed, state)
    for row in range(7):
        alone = select(state, torch.tensor([row]))
        if native.reads_everything:
            alone = native.start(one_of(source, row))
        single, _ = by_steps(native, fed[row : row + 1], alone)
        assert torch.equal(single[0], together[row]), f"row {row}"


@pytest.mark.parametrize("name", [name for name in WRITES if name not in ASIDE])
def test_7_a_beam_finds_the_same_answers(name, best):
    model, native = pair(name, best)
    source, prompt = source_for(name, 3), torch.ones(3, 1, dtype=torch.long)
    search = BeamSearch(beam=4, limit=9, stop=2, n_best=3)
    with torch.inference_mode():
        expected = beam(model, prompt, model.start(source, batch=3), search)
        found = beam(native, prompt, native.start(source, batch=3), search)
    for mine, theirs in zip(found, expected, strict=True):
        assert [one.score for one in mine[:3]] == pytest.approx([one.score for one in theirs[:3]], abs=1e-4)
        gaps = [a.score - b.score for a, b in pairwise(theirs)]
        if min(gaps[:3], default=1.0) > 1e-4:
            assert [one.tokens for one in mine[:3]] == [one.tokens for one in theirs[:3]]


@each_model
def test_who_listens_hears_everything(name, best):
    model, native = pair(name, best)
    with torch.no_grad():
        _, state = native(tokens(1, 3), begin(native, name, 1))
    with torch.no_grad(), regard.trace(model) as seen:
        native.step(tokens(1, 1)[:, 0], state)
    assert len(seen) > 0
    scores, _ = native.step(tokens(1, 1)[:, 0], state)
    assert scores.requires_grad, "gradients go through the eager model"


def test_long_prompts_are_read_in_pieces(best, monkeypatch):
    monkeypatch.setattr("regard.engine.native.MOST", 8)
    model, native = pair("lm-transformer-rotary", best)
    with torch.no_grad():
        fed = tokens(3, 13)
        expected, _ = model(fed, model.start(batch=3))
        close(native(fed, native.start(batch=3))[0], expected)
        close(native.prefill(fed, native.start(batch=3))[0], expected[:, -1])


def test_threads_may_step_one_state_at_the_same_time(best):
    """Helpers serve one of them; the others compute alone. Each has its own future."""
    settings = regard.LanguageModel(regard.Transformer(width=256, layers=2, heads=4))
    torch.manual_seed(0)
    native = Native(regard.build(settings, 500).eval(), best).eval()
    fed, found = torch.randint(500, (4, 40)), {}
    with torch.no_grad():
        _, state = native.prefill(torch.randint(500, (2, 5)), native.start(batch=2))
        expected = [by_steps(native, row.view(2, -1), state)[0] for row in fed]

    def go(number: int) -> None:
        with torch.no_grad():
            found[number] = [by_steps(native, fed[number].view(2, -1), state)[0] for _ in range(5)]

    threads = [threading.Thread(target=go, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, several in found.items():
        assert all(torch.equal(one, expected[number]) for one in several)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_number_of_threads_changes_no_bit(count, best):
    model = regard.build(regard.LanguageModel(regard.Transformer(width=256, layers=2, heads=4)), 3000).eval()
    native, fed, before = Native(model, best).eval(), torch.randint(3000, (3, 50)), torch.get_num_threads()
    with torch.no_grad():
        expected, _ = native(fed, native.start(batch=3))
        try:
            torch.set_num_threads(count)
            found, state = native(fed, native.start(batch=3))
            assert native.step(fed[:, 0], state)[0].isfinite().all()
        finally:
            torch.set_num_threads(before)
    assert torch.equal(found, expected)


# ---- what goes wrong


@torch.no_grad()
def test_what_is_wrong_is_said_as_by_the_eager_model(best):
    _, native = pair("lm-transformer-learned", best)
    state = native.start(batch=2)
    for fed in (torch.tensor([[0], [VOCABULARY]]), torch.tensor([[-1], [0]])):
        with pytest.raises(UserError, match="is not in the vocabulary"):
            native(fed, state)
    with pytest.raises(UserError, match=r"tokens have 3 rows, the state has 2"):
        native(tokens(3, 1), state)
    with pytest.raises(UserError, match="at least one position"):
        native(tokens(2, 0), state)
    _, full = native(tokens(2, 32), state)
    with pytest.raises(UserError, match="position 33 is past the end"):
        native.step(tokens(2, 1)[:, 0], full)
    _, seq2seq = pair("seq2seq-transformer", best)
    with pytest.raises(UserError, match="wants a source"):
        seq2seq.start()
    with pytest.raises(UserError, match="at least one token"):
        seq2seq.start(Source(torch.zeros(2, 0, dtype=torch.long)))


@pytest.mark.parametrize("other", ["lm-lstm", "lm-transformer-as-llama", "seq2seq-transformer", "lm-transformer-ssru"])
@torch.no_grad()
def test_a_state_of_another_model_never_crashes(other, best):
    _, native = pair("lm-transformer-rotary", best)
    _, state = make(other, torch.float32)(tokens(2, 3), begin(make(other, torch.float32), other, 2))
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the eager model has to say
        native.step(tokens(2, 1)[:, 0], state)


@torch.no_grad()
def test_a_state_in_float64_is_not_read_as_float32(best):
    _, native = pair("lm-gru", best)
    with pytest.raises(RuntimeError):
        native.step(tokens(2, 1)[:, 0], map_state(torch.Tensor.double, native.start(batch=2)))


def test_without_a_compiler_models_answer_by_torch(monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(building, "COMPILERS", ("no-such-compiler",))
    monkeypatch.setattr(libraries, "BUILT", tmp_path)
    libraries.library.cache_clear()
    try:
        model = make("lm-transformer-rotary", torch.float32)
        assert prepare(model) is model
        assert account(model) == ["torch: there is no C++ compiler to build it with (c++, g++ or clang++)"]
        with pytest.raises(UserError, match=r"^the native engine cannot answer here: there is no C\+\+ compiler"):
            prepare(model, "native")
    finally:
        libraries.library.cache_clear()


def test_a_compiler_that_fails_is_quoted(monkeypatch, tmp_path):
    wrong = tmp_path / "c++"
    wrong.write_text("#!/bin/sh\necho 'no such thing' >&2\nexit 1\n")
    wrong.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrong))
    with pytest.raises(NoLibrary, match=r"the compiler .* refused it: no such thing"):
        compiled(levels()[0], tmp_path / "cache")


def test_a_library_that_was_cut_off_is_compiled_again(best, monkeypatch, tmp_path):
    path = tmp_path / best.path.name
    whole = best.path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    path.with_suffix(".sha256").write_text(best.path.with_suffix(".sha256").read_text())
    monkeypatch.setenv("CXX", "/bin/false")
    with pytest.raises(NoLibrary, match="refused it"):
        compiled(best.level, tmp_path)
    path.write_bytes(whole)
    assert compiled(best.level, tmp_path) == path


def test_a_wheel_can_be_built_where_nothing_is_installed():
    """What compiles the engine imports nothing that is not Python's own."""
    text = Path(building.__file__).read_text()
    imported = {node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_an_unknown_processor_is_named(monkeypatch):
    monkeypatch.setenv("REGARD_INSTRUCTIONS", "mmx")
    with pytest.raises(NoLibrary, match=r"it knows no processor like this one .*mmx"):
        libraries.best_level()


def test_other_numbers_and_engines_are_refused_in_words():
    with pytest.raises(UserError, match=r"computes in float32 on the CPU, found float64"):
        prepare(make("lm-rnn"), "native")
    with pytest.raises(UserError, match=r"engine .jax. does not exist"):
        prepare(make("lm-rnn"), "jax")


def test_members_of_an_ensemble_are_prepared_each(best):
    names = ("lm-transformer-rotary", "lm-lstm", "lm-transformer-additive")
    members = [make(name, torch.float32) for name in names]
    whole = Ensemble(members).eval()
    prepared = prepare(whole)
    assert [isinstance(one, Native) for one in prepared.members] == [True, True, False]
    with torch.no_grad():
        fed = tokens(2, 5)
        close(prepared(fed, prepared.start(batch=2))[0], whole(fed, whole.start(batch=2))[0])
    assert len(account(prepared)) >= 3
