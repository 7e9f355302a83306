"""What shape is the house in? python -m bench.house [TREE …]

Lines of code by room, how deep imports go, and the counts that are to stay small. The counting functions are also what
tests/test_architecture.py holds its laws by. Nothing is imported or run: the files are read.
"""

import ast
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

KINDS = {"text", "pairs", "labels", "tags", "captions", "language model", "translator", "captioner", "classifier",
         "tagger", "transducer", "language-model", "seq2seq"}  # fmt: skip
"""What a kind of data, of run or of model is called somewhere."""
PLAIN = KINDS - {"text", "labels", "tags", "captions"}
"""Those of them that mean a kind wherever they are compared; the others are also words for something else."""
SPOKEN_OF = re.compile(r"(^|[._\"'\[])(kind|task)\b")
"""What is compared is a kind: `kind`, `run.kind`, `facts["kind"]`, `run.task.name`."""
KNOW_KINDS = ("tasks/", "config/", "models/build.py")
"""Where kinds may be told apart."""
ROOMS_SINCE = ("hub", "serve", "engine")
"""What was built behind the inner walls, and had no room before."""
COMPARING = ("endswith", "startswith", "removesuffix", "removeprefix")
STEMS = {"encoder", "decoder", "layer", "layers", "embedding", "attention", "self_attention", "cross_attention",
         "pooling", "_gate"}  # fmt: skip
"""Words of a path of a tap, besides the taps' own names."""
BLANK = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
         tokenize.ENDMARKER)  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class File:
    """A module of the package."""

    root: Path
    path: Path  # below the package

    @cached_property
    def text(self) -> str:
        return (self.root / self.path).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def module(self) -> str:
        parts = ("regard", *self.path.with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        return self.path.parts[0].removesuffix(".py")

    def all(self, kind: type[Node]) -> Iterator[Node]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kind))

    def at(self, node: ast.expr | ast.stmt) -> str:
        return f"{self.path}:{node.lineno}"


def package(tree: Path) -> list[File]:
    root = tree / "regard"
    return [File(root, path.relative_to(root)) for path in sorted(root.rglob("*.py"))]


def scripts(tree: Path) -> dict[str, list[str]]:
    """The lines of every JavaScript module."""
    return {str(path.relative_to(tree)): path.read_text(encoding="utf-8").splitlines()
            for path in sorted((tree / "regard").rglob("*.js"))}  # fmt: skip


# ---- size


def code_lines(file: File) -> int:
    """Lines with code on them: not blank, not a comment, not a docstring."""
    said = {
        line
        for node in file.all(ast.Expr)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    with (file.root / file.path).open("rb") as lines:
        tokens = [token for token in tokenize.tokenize(lines.readline) if token.type not in BLANK]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - said)


def functions(files: list[File]) -> list[tuple[Function, str]]:
    return [(node, f"{file.path}:{node.name}") for file in files for kind in (ast.FunctionDef, ast.AsyncFunctionDef)
            for node in file.all(kind)]  # fmt: skip


def parameters(function: Function) -> int:
    """All that can be handed over, but for `self` and `cls`."""
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def twice_named(files: list[File]) -> dict[str, list[str]]:
    """Public classes that share a name, with where they stand."""
    found = defaultdict(list)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.path))
    return {name: places for name, places in found.items() if len(places) > 1}


# ---- imports


def imports(file: File, known: set[str], lazy: bool) -> set[str]:
    """The modules of ours that a module imports when it is loaded, or, if `lazy`, at any time; not for types alone."""
    found = set()
    for node in _run(file.tree, lazy):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "regard":
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & known or {node.module or ""}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known
    return found - {file.module}


def _run(node: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if not lazy and isinstance(child, Function | ast.Lambda):
            continue
        yield child
        yield from _run(child, lazy)


def graph(files: list[File], lazy: bool = False) -> dict[str, set[str]]:
    known = {file.module for file in files}
    return {file.module: imports(file, known, lazy) & known for file in files}


def deepest(edges: dict[str, set[str]]) -> list[str]:
    """The longest chain of modules of which each imports the next; a cycle is not gone round."""
    longest: dict[str, list[str]] = {}

    def below(module: str, above: tuple[str, ...]) -> list[str]:
        if module not in longest:
            way = (*above, module)
            chains = [below(other, way) for other in sorted(edges[module]) if other not in way]
            longest[module] = [module, *max(chains, key=len, default=[])]
        return longest[module]

    return max((below(module, ()) for module in sorted(edges)), key=len)


def cycles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Modules that import each other, directly or by way of others."""
    reach = {module: {module} | edges[module] for module in edges}
    while True:
        wider = {module: set().union(*(reach[other] for other in found)) for module, found in reach.items()}
        if wider == reach:
            break
        reach = wider
    rings = {frozenset(b for b in reach[a] if a in reach[b]) for a in edges}
    return [set(ring) for ring in rings if len(ring) > 1]


def allowed(tree: Path) -> set[tuple[str, str]]:
    """Which room may import which, by the table of tests/test_architecture.py."""
    for node in ast.parse((tree / "tests/test_architecture.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAY_IMPORT":
            table: dict[str, set[str]] = eval(compile(ast.Expression(node.value), "MAY_IMPORT", "eval"))
            return {(room, other) for room, others in table.items() for other in others}
    return set()


def used(files: list[File]) -> set[tuple[str, str]]:
    """Which room does import which."""
    rooms = {file.module: file.room for file in files}
    edges = graph(files, lazy=True)
    return {(rooms[module], rooms[other]) for module in edges for other in edges[module]
            if rooms[module] != rooms[other]}  # fmt: skip


# ---- who asks what it holds


def config_checks(files: list[File]) -> list[str]:
    """`isinstance` of a class that regard.config defines, outside config and build."""
    kinds = {node.name for file in files if file.room == "config" for node in file.all(ast.ClassDef)} - {"Settings"}
    kinds |= {"ModelConfig", "LayerConfig", "EncoderConfig"}
    return [place for file in files if file.room != "config" and file.path != Path("models/build.py")
            for place, classes in _instances(file) if classes & kinds]  # fmt: skip


def kind_comparisons(files: list[File]) -> list[str]:
    """Where a kind is compared with its name, or `Labels` stands for one, outside tasks/, config/ and build."""
    found = []
    for file in _not_of_kinds(files):
        found += [place for place, classes in _instances(file) if "Labels" in classes]
        for node in file.all(ast.Compare):
            if isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
                sides = (node.left, node.comparators[0])
                if any(_names_a_kind(one, other) for one, other in (sides, sides[::-1])):
                    found.append(file.at(node))
        found += [file.at(case.pattern) for case in file.all(ast.match_case)
                  if KINDS & _strings(case.pattern)]  # type: ignore[arg-type]  # fmt: skip
    return found


def kind_tables(files: list[File]) -> list[str]:
    """Dictionaries of which at least two keys are names of kinds, outside tasks/, config/ and build."""
    return [file.at(node) for file in _not_of_kinds(files) for node in file.all(ast.Dict)
            if len(KINDS & {key.value for key in node.keys if isinstance(key, ast.Constant)}) >= 2]  # fmt: skip


def _not_of_kinds(files: list[File]) -> list[File]:
    return [file for file in files if not str(file.path).startswith((*KNOW_KINDS, "text/"))]


def _names_a_kind(name: ast.expr, what: ast.expr) -> bool:
    names = _strings(name)
    return bool(names & PLAIN) or bool(names & KINDS and SPOKEN_OF.search(ast.unparse(what)))


def _strings(node: ast.AST) -> set[str]:
    """The words that an expression consists of: one, or several in a tuple, list or set."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _instances(file: File) -> Iterator[tuple[str, set[str]]]:
    """Each `isinstance` with the names of the classes it asks for."""
    for node in file.all(ast.Call):
        if ast.unparse(node.func) == "isinstance" and len(node.args) == 2:
            yield file.at(node), set(re.findall(r"\w+", ast.unparse(node.args[1])))


def path_comparisons(files: list[File]) -> list[str]:
    """Where the path of a tap is compared with a part of it, outside layers and models, which give the paths."""
    words, constants = tap_words(files), _constants(files)

    def of_a_tap(node: ast.expr) -> bool:
        parts = list(ast.walk(node))
        texts = {text for part in parts for text in _strings(part)}
        texts |= {text for part in parts if isinstance(part, ast.Name) for text in constants.get(part.id, ())}
        return any(text[:1] in "._" or "." in text for text in texts if _is_path(text, words))

    found = []
    for file in files:
        if file.room in ("layers", "models"):
            continue
        for call in file.all(ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr in COMPARING and any(map(of_a_tap, call.args)):
                found.append(file.at(call))
        found += [file.at(node) for node in file.all(ast.Compare)
                  if any(map(of_a_tap, (node.left, *node.comparators)))]  # fmt: skip
    return found


def tap_words(files: list[File]) -> set[str]:
    """What taps are called, and what stands before them in their paths."""
    found = set(STEMS)
    for file in files:
        for node in file.all(ast.Assign):
            if "Tap(" in ast.unparse(node.value):
                found |= {one.attr for target in node.targets for one in ast.walk(target)
                          if isinstance(one, ast.Attribute)}  # fmt: skip
    return found


def _is_path(text: str, words: set[str]) -> bool:
    parts = [part for part in text.split(".") if part not in ("", "*")]
    return bool(parts) and all(part in words for part in parts)


def _constants(files: list[File]) -> dict[str, set[str]]:
    """Module-level names in capitals that stand for words."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for node in file.tree.body:
            if isinstance(node, ast.Assign):
                left, right = node.targets[0], node.value
                several = isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple)
                for name, value in zip(left.elts, right.elts, strict=False) if several else [(left, right)]:
                    if isinstance(name, ast.Name) and name.id.isupper():
                        found[name.id] |= _strings(value)
    return found


def in_scripts(tree: Path, files: list[File]) -> dict[str, list[str]]:
    """The same of JavaScript: lines above 120, kinds compared, paths compared."""
    plain, kinds, taps = ("|".join(map(re.escape, words)) for words in (PLAIN, KINDS, tap_words(files)))
    rules = {
        "lines above 120": re.compile(r".{121}"),
        "kinds compared": re.compile(
            rf"[=!]== '({plain})'|'({plain})' [=!]==|(kind|task|task\.name) [=!]== '({kinds})'|includes\([^)]*kind"
        ),
        "paths compared": re.compile(rf"(ends|starts)With\('[._]?({taps})\.?'|-'\.({taps})'\.length"),
    }
    return {what: [f"{name}:{number}" for name, lines in scripts(tree).items() for number, line in enumerate(lines, 1)
                   for _ in (rule.findall(line) if what != "lines above 120" else rule.findall(line)[:1])]
            for what, rule in rules.items()}  # fmt: skip


# ---- the report


def report(tree: Path) -> Iterator[tuple[str, str]]:
    files = package(tree)
    by_room: Counter[str] = Counter()
    for file in files:
        by_room["root" if len(file.path.parts) == 1 else file.room] += code_lines(file)
    yield "code lines", f"{by_room.total():,}"
    later = f"{', '.join(ROOMS_SINCE[:-1])} and {ROOMS_SINCE[-1]}"
    yield f"· without {later}", f"{by_room.total() - sum(by_room[room] for room in ROOMS_SINCE):,}"
    for room, lines in by_room.most_common():
        yield f"· {room}", f"{lines:,}"
    yield "files", str(len(files))
    early, late = graph(files), graph(files, lazy=True)
    yield "depth of imports (with lazy ones)", f"{len(deepest(early))} ({len(deepest(late))})"
    yield "cycles (with lazy ones)", f"{len(cycles(early))} ({len(cycles(late))})"
    may, do = allowed(tree), used(files)
    rooms = len({file.room for file in files})
    yield "room edges allowed, used, of how many in an order", f"{len(may)}, {len(do)}, {rooms * (rooms - 1) // 2}"
    largest = max(files, key=lambda file: file.text.count("\n"))
    yield "largest file", f"{largest.path}, {largest.text.count(chr(10))} lines"
    made = functions(files)
    longest, where = max(made, key=lambda one: (one[0].end_lineno or 0) - one[0].lineno)
    yield "longest function", f"{where}, {(longest.end_lineno or 0) - longest.lineno + 1} lines"
    most, where = max(made, key=lambda one: parameters(one[0]))
    yield "most parameters", f"{where}, {parameters(most)}"
    yield "functions above 7 parameters", str(sum(parameters(one) > 7 for one, _ in made))
    yield "`**kwargs`", str(sum(one.args.kwarg is not None for one, _ in made))
    checks = config_checks(files)
    within = sum(place.startswith("tasks/") for place in checks)
    yield "`isinstance` on configs outside config and build (of these in tasks)", f"{len(checks)} ({within})"
    yield "places that compare a kind outside tasks, config, build", str(len(kind_comparisons(files)))
    yield "tables by kind outside tasks, config, build", str(len(kind_tables(files)))
    yield "path suffixes compared", str(len(path_comparisons(files)))
    yield "`type: ignore`", str(sum(len(re.findall(r"# type: ignore", file.text)) for file in files))
    twins = twice_named(files)
    yield "public classes that share a name", f"{len(twins)} ({', '.join(twins)})"
    yield "JavaScript: modules, lines", f"{len(scripts(tree))}, {sum(map(len, scripts(tree).values())):,}"
    for what, places in in_scripts(tree, files).items():
        yield f"JavaScript: {what}", str(len(places))


def main(trees: list[Path]) -> None:
    """A column for each tree."""
    columns = [dict(report(tree)) for tree in trees]
    print(f"| measure |{' |' * len(columns)}\n|---|{'---|' * len(columns)}")
    measures = dict.fromkeys(what for column in columns for what in column)
    for what in sorted(measures, key=lambda what: 0 if what == "code lines" else 1 if what.startswith("·") else 2):
        print(f"| {what} | {' | '.join(column.get(what, '') for column in columns)} |")


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]] or [Path(__file__).parent.parent])
