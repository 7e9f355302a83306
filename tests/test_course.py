"""The course: every lesson runs with its solutions, and no check lets anything but a solution pass."""

from itertools import chain
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

pytest.importorskip("nbclient", reason="nbclient is not here")
pytest.importorskip("ipykernel", reason="ipykernel is not here")

from course.lesson import Cell, Lesson, lessons
from course.run import executed, page

LESSONS = {lesson.name: lesson for lesson in lessons()}

# function → what students write instead: a piece of the solution, and what stands there then
MISTAKES = {
    "rnn_step": [("W_hx.T", "W_hx.T * 0"), (" + b", ""), ("torch.tanh", "torch.sigmoid")],
    "rnn_jacobian": [("[:, None]", ""), ("h_t**2", "h_t")],
    "lstm_step": [("i, f, g, o", "f, i, g, o"), (" * torch.tanh(g)", " * torch.sigmoid(g)"), ("torch.tanh(c)", "c")],
    "next_token_loss": [
        ("tokens[:, 1:, None]", "tokens[:, :-1, None]"),
        (".mean()", ".sum()"),
        ("return -", "return "),
    ],
    "tempered": [("/ temperature", "* temperature"), (", -1)", ", 0)")],
    "beam_search": [("-one[0]", "one[0]"), ("[:width]", "[:1]"), ("log_p + ", ""), (", after)", ", state)")],
    "encode_decode": [("s = read(x_t, s)", "read(x_t, s)"), ("source.unbind(1)", "source.flip(1).unbind(1)")],
    "with_context": [("torch.tanh(h_S @ W.T + b)", "h_S"), ("[y_t, h_S]", "[h_S, y_t]")],
    "f_att": [("torch.tanh", ""), (" + b", ""), ("h @ U.T", "h @ U")],
    "mix": [("torch.softmax(e, -1)", "torch.softmax(e, 0)"), (".sum(1)", ".mean(1)")],
    "attend_and_write": [("[y_t, c]", "[y_t, h[:, -1]]"), ("score(s, h)", "score(s_0, h)")],
    "ask": [(" / W_K.shape[1] ** 0.5", ""), ("h @ W_V)", "h @ W_K)"), ("s @ W_Q, h @ W_K", "s @ W_K, h @ W_Q")],
    "scores_for": [("weights.log()", "weights")],
    "one_query": [("@ X", "@ X.softmax(0)"), ("X @ q", "X @ q / 2")],
    "attention": [("dim=1", "dim=0"), (" / K.shape[1] ** 0.5", ""), ("K.shape[1]", "len(K)")],
    "self_attention": [("X @ W_K", "X @ W_Q")],
    "equivariance_gap": [("f(X)[order]", "f(X)"), (".max()", ".mean()")],
    "sinusoid": [
        ("-torch.arange(n)", "torch.arange(n)"),
        ("/ n", "/ width"),
        ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()"),
    ],
    "causal_mask": [(".tril()", ".triu()"), (".tril()", ".tril(-1)"), (".tril()", "")],
    "masked_attention": [
        ("E.masked_fill(~allowed, -torch.inf), -1)", "E, -1) * allowed"),
        ("~allowed", "allowed"),
        ("-torch.inf", "0.0"),
    ],
    "who_sees_whom": [(".any(3).any(1)", ".any(3).any(1).T"), ("(J != 0)", "(J == J)"), ("J != 0", "J > 100")],
    "step_with_cache": [("cache[0], K", "K, cache[0]"), (" / K.shape[1] ** 0.5", ""), ("(K, V)", "cache or (K, V)")],
    "positions_computed": [("(T + 1)", "T"), ("T if", "1 if")],
    "write_greedily": [
        ("scores.argmax(-1)", "scores.argmin(-1)"),
        (
            "scores, state = model.step(token, state)",
            "scores, _ = model.prefill(torch.tensor([prompt + said]), model.start())",
        ),
    ],
    "multi_head": [("K.shape[-1]", "X.shape[-1]"), ("~allowed", "allowed"), ("list(A @ V)", "list(A @ V)[::-1]")],
    "weights_of_attention": [("2 * m", "m"), (" + H * l * d", "")],
    "cross_attention": [(".masked_fill(~keep, -torch.inf)", ""), ("Y @ W_Q", "Z @ W_Q")],
    "block": [("X = X + ", "X = "), ("norms[1](X)", "X"), ("F.gelu", "F.relu"), ("return X + ", "return ")],
    "transformer": [
        (" * table.shape[1] ** 0.5", ""),
        (" + positions", ""),
        ("last_norm(X)", "X"),
        ("X = one(X)", "one(X)"),
    ],
    "sentence_vector": [("keep.sum(1) - 1", "-1"), ("keep.sum(1) - 1", "0")],
}


@pytest.fixture
def drawing(here, monkeypatch):
    """Pictures go nowhere."""
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams.copy())
    plt.switch_backend("agg")
    yield
    plt.close("all")


def run(source: str, names: dict) -> dict:
    """A cell, in a copy of what is known by then."""
    names = dict(names)
    exec(compile(source, "a cell of the course", "exec"), names)
    return names


def refused(check: str, names: dict) -> bool:
    """Whether a check fails: it finds other numbers, or shapes that do not fit."""
    try:
        run(check, names)
    except (AssertionError, RuntimeError, IndexError, ValueError):
        return True
    return False


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.usefixtures("drawing")
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_a_check_refuses_what_is_not_written_and_what_is_written_wrong(name):
    lesson = LESSONS[name]
    solutions, names = lesson.solutions(), {}
    for exercise, check in zip(lesson.cells, [*lesson.cells[1:], None], strict=True):
        if exercise.kind in ("code", "check"):  # what was checked last stands in the solved notebook
            names = run(exercise.source, names)
        if exercise.kind != "exercise":
            continue
        assert check.kind == "check", f"behind {exercise.function}"
        with pytest.raises(NotImplementedError):
            run(check.source, run(exercise.source, names))
        solution = solutions[exercise.function]
        for piece, instead in MISTAKES[exercise.function]:
            head, quotes, body = solution.rpartition('"""')
            assert piece in body, f"{exercise.function} has no {piece!r}"
            wrong = run(head + quotes + body.replace(piece, instead, 1), names)
            assert refused(check.source, wrong), f"{exercise.function} passed its check with {instead!r} for {piece!r}"
        names = run(solution, names)


def test_exercises_solutions_and_mistakes_go_together():
    asked = {
        name: [cell.function for cell in lesson.cells if cell.kind == "exercise"] for name, lesson in LESSONS.items()
    }
    assert {name: list(lesson.solutions()) for name, lesson in LESSONS.items()} == asked
    assert list(MISTAKES) == [function for functions in asked.values() for function in functions]
    assert len(LESSONS) == 5


@pytest.mark.filterwarnings("ignore")
def test_a_real_kernel_runs_the_lessons_with_their_solutions(tmp_path):
    """One after the other in one kernel, which forgets in between what it knew: a start takes longer than a lesson."""
    forget, done = Cell("code", "%reset -f"), 0
    cells = chain.from_iterable((forget, *lesson.solved().cells) for lesson in LESSONS.values())
    whole = executed(Lesson("course", tuple(cells)), tmp_path)
    for name, lesson in LESSONS.items():
        done += 1 + len(lesson.cells)
        book = SimpleNamespace(cells=whole.cells[done - len(lesson.cells) : done])
        text = page(lesson, book, tmp_path / name)
        pictures = list((tmp_path / name).glob("*.png"))
        drawn = sum(cell.source.count("plt.show()") + cell.source.count("\nregard.show(") for cell in lesson.cells)
        assert len(pictures) == drawn >= 2
        assert all(picture.name in text for picture in pictures)
        assert not any(solution in text for solution in lesson.solutions().values())  # students read the same page
    assert done == len(whole.cells)
