"""A command as a value: its fields are the words and options that can be typed, the docstrings under them its help."""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from keyword import iskeyword
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin

from regard.config.settings import Settings, hints_of, meanings

STANDARD = "-"
"""Standard input, where the name of a file is wanted."""


@dataclass(frozen=True, kw_only=True)
class Command(Settings):
    """Declares a command, without torch; `cli/bodies` has a function of its name that is imported when it runs."""

    examples: ClassVar[str] = ""
    old: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Options as they were called before: those spellings go on working."""
    own: ClassVar[tuple[str, ...]] = ()
    """Sections of a recipe whose settings are options too."""

    def ready(self) -> None:
        """Refuses what is not on the disk, before anything is loaded to compute with it."""

    @classmethod
    def called(cls) -> str:
        return cls.__name__.removesuffix("Command").lower()

    def body(self) -> tuple[str, str]:
        """The module and the name of the function that does it."""
        name = self.called()
        return type(self).__module__.replace(".commands.", ".bodies."), f"{name}_" if iskeyword(name) else name

    @classmethod
    def instead(cls, words: Sequence[str]) -> str:
        """What somebody should have typed who typed more words than there are places."""
        return "a text with blanks wants quotes"

    @classmethod
    def more(cls) -> str:
        """What its help says at the end."""
        return ""


def place(shown: str, default: Any = MISSING, known: Iterable[str] = (), ending: str = "") -> Any:
    """A word that is told by where it stands; without a default it must be there. Shells offer those known.

    A word with that ending is never one file more of an option that takes several.
    """
    return field(default=default, metadata={"place": True, "shown": shown, "known": tuple(known), "ending": ending})


def option(default: Any, shown: str) -> Any:
    """An option whose value help calls by a name of its own; one for several is typed once for each."""
    return field(default=default, metadata={"shown": shown})


def untyped(default: Any) -> Any:
    """A field that nobody types: one command sets it in another that it has made."""
    return field(default=default, metadata={"untyped": True})


def files(shown: str = "FILE") -> Any:
    """An option for the files of one corpus, which stand behind each other: sources and targets."""
    return field(default=(), metadata={"shown": shown, "in a row": True})


def group(default: Settings | None, *names: str) -> Any:
    """Settings that become options, all or those named; none typed: the default as it is."""
    return field(default=default, metadata={"group": names})


def settings(kind: type[Settings]) -> Any:
    """Options `--section.key value` for every setting of a recipe."""
    return field(default_factory=dict, metadata={"settings": kind})


class Option(NamedTuple):
    """What can be typed for one field."""

    field: str
    group: str
    """The field of the command that holds it among others; "": none does."""
    kinds: tuple[type, ...]
    """What a word may be read as."""
    choices: tuple[str, ...] = ()
    """Words that may stand there as they are."""
    several: bool = False
    """Whether it holds more than one; it is typed once for each."""
    in_a_row: bool = False
    """Whether those for one that holds several may also stand behind each other."""
    ending: str = ""
    """How a word ends that can only be meant for this place."""
    default: Any = ""
    shown: str = ""
    meaning: str = ""

    @property
    def name(self) -> str:
        return f"--{self.field.replace('_', '-')}"

    @property
    def switch(self) -> bool:
        return self.kinds == (bool,)

    @property
    def needed(self) -> bool:
        return self.default is MISSING


def places_of(kind: type[Command]) -> tuple[Option, ...]:
    """The words that a command wants, in their order."""
    return tuple(_option(kind, one) for one in fields(kind) if "place" in one.metadata)


def options_of(kind: type[Command]) -> dict[str, Option]:
    """The options of a command by name, as they are typed."""
    found = []
    for one in fields(kind):
        if "group" in one.metadata:
            default, names = group_default(kind, one), one.metadata["group"]
            chosen = [each for each in fields(default) if not names or each.name in names]
            found += [_option(type(default), each, one.name, getattr(default, each.name)) for each in chosen]
        elif not {"place", "settings", "untyped"} & one.metadata.keys():
            found.append(_option(kind, one))
    return {each.name: each for each in found}


def settings_of(kind: type[Settings], before: str = "") -> dict[str, Option]:
    """The settings of a recipe, with those of every section within, by name: section.key."""
    found: dict[str, Option] = {}
    for one in fields(kind):
        sections = [each for each in _alternatives(hints_of(kind)[one.name]) if _is_settings(each)]
        for section in sections:
            for name, inner in settings_of(section, f"{before}{one.name}.").items():
                same = found.get(name, inner)
                found[name] = inner._replace(choices=tuple(dict.fromkeys((*same.choices, *inner.choices))))
        if len(sections) < len(_alternatives(hints_of(kind)[one.name])):
            made = _option(kind, one)
            made = made._replace(kinds=(), choices=("true", "false")) if made.switch else made
            found[f"{before}{one.name}"] = made._replace(in_a_row=made.several)
    return found


def setting_kind(kind: type[Command]) -> type[Settings] | None:
    """The recipe whose settings a command takes, if it does."""
    return next((one.metadata["settings"] for one in fields(kind) if "settings" in one.metadata), None)


def group_default(kind: type[Command], one: Any) -> Any:
    """The settings from which those that are typed differ."""
    (held,) = (each for each in _alternatives(hints_of(kind)[one.name]) if each is not NoneType)
    return one.default or held()


def _option(kind: type, one: Any, group: str = "", default: Any = MISSING) -> Option:
    alternatives = [each for each in _alternatives(hints_of(kind)[one.name]) if each is not NoneType]
    several = any(get_origin(each) is tuple for each in alternatives)
    plain = [get_args(each)[0] if get_origin(each) is tuple else each for each in alternatives]
    literals = (word for each in plain if get_origin(each) is Literal for word in get_args(each) if word)
    choices = (*literals, *one.metadata.get("known", ()))
    kinds = tuple(dict.fromkeys(each for each in plain if get_origin(each) is not Literal and not _is_settings(each)))
    shown = one.metadata.get("shown") or _shown(kinds, choices)
    meaning = " ".join(meanings(kind).get(one.name, "").removesuffix(".").split())
    default = one.default if default is MISSING else default
    in_a_row, ending = one.metadata.get("in a row", False), one.metadata.get("ending", "")
    return Option(one.name, group, kinds, choices, several, in_a_row, ending, default, shown, meaning)


def _shown(kinds: Iterable[type], choices: tuple[str, ...]) -> str:
    names = {int: "N", float: "X", Path: "FILE", str: "TEXT"}
    return "|".join([*(names[kind] for kind in kinds if kind in names), *choices])


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_settings(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Settings)
