"""Scripts by which bash, zsh and fish complete what is typed behind `regard`, from what help is made of."""

import inspect
from collections.abc import Callable, Iterator
from string import Template

from regard.cli.command import Command, Option, options_of, places_of, setting_kind, settings_of
from regard.cli.commands import COMMANDS

FILES, FOLDERS = ("FILE", "FILE.html", "IMAGE", "RECIPE"), ("RUN", "FOLDER")
HELP = Option("help", "", (bool,), meaning="Say what can be typed")
SETTINGS = Option("settings", "", (bool,), meaning="List the settings of a recipe")

BASH = Template("""# bash completion for regard
_regard() {
    local words='' kinds='' IFS=$$'\\n'
    if ((COMP_CWORD == 1)); then
        words='$commands --help --version'
    else
        case "$${COMP_WORDS[1]} $$3" in
$cases
        esac
    fi
    COMPREPLY=($$(IFS=' '; compgen $$kinds -W "$$words" -- "$$2"))
}
complete -o filenames -F _regard regard
""")
ZSH = Template("""#compdef regard
# zsh completion for regard
_regard() {
    local -a commands
    commands=(
$commands
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $$words[1] in
$cases
    esac
}
if [[ $$funcstack[1] == _regard ]]; then _regard "$$@"; else compdef _regard regard; fi
""")
FISH = Template("""# fish completion for regard
complete -c regard -f
$commands
$cases
""")


def script(shell: str) -> str:
    """What the shell is to source."""
    said = {name: (inspect.getdoc(kind) or "").removesuffix(".") for name, kind in COMMANDS.items()}
    if shell == "bash":
        return BASH.substitute(commands=" ".join(said), cases=_lines(_bash))
    if shell == "zsh":
        commands = (f"        {_quoted(f'{name}:{text}')}" for name, text in said.items())
        return ZSH.substitute(commands="\n".join(commands), cases=_lines(_zsh))
    when = "complete -c regard -n __fish_use_subcommand"
    commands = (f"{when} -a {name} -d {_quoted(text)}" for name, text in said.items())
    return FISH.substitute(commands="\n".join(commands), cases=_lines(_fish))


def _lines(cases: Callable[[type[Command]], Iterator[str]]) -> str:
    return "\n".join(line for kind in COMMANDS.values() for line in cases(kind))


def _typed(kind: type[Command]) -> dict[str, Option]:
    """All options of a command, the settings of a recipe among them."""
    recipe = setting_kind(kind)
    known = settings_of(recipe) if recipe else {}
    settings = {f"--{name}": one._replace(shown="FILE") if one.several else one for name, one in known.items()}
    return {**options_of(kind), **settings, **({"--settings": SETTINGS} if recipe else {}), "--help": HELP}


def _bash(kind: type[Command]) -> Iterator[str]:
    name, options, places = kind.called(), _typed(kind), places_of(kind)
    for option, one in options.items():
        if not one.switch:
            yield f"            '{name} {option}') {_bash_values(one)} ;;"
    words = f"if [[ $2 == -* ]]; then words='{' '.join(options)}'; else {_bash_values(*places)}; fi"
    yield f"            '{name} '*) {words} ;;"


def _bash_values(*several: Option) -> str:
    kinds = "-f" if _are(FILES, *several) else "-d" if _are(FOLDERS, *several) else "''"
    return f"words='{' '.join(word for one in several for word in one.choices)}' kinds={kinds}"


def _zsh(kind: type[Command]) -> Iterator[str]:
    yield f"        {kind.called()}) _arguments \\"
    for option, one in _typed(kind).items():
        said = one.meaning.replace("[", r"\[").replace("]", r"\]")
        yield f"            {_quoted(f'{option}[{said}]{_zsh_values(one)}')} \\"
    for number, one in enumerate(places_of(kind), 1):
        where = "*" if one.several else number
        yield f"            {_quoted(f'{where}{_zsh_values(one)}')} \\"
    yield "            ;;"


def _zsh_values(one: Option) -> str:
    if one.switch:
        return ""
    action = "_files" if _are(FILES, one) else "_files -/" if _are(FOLDERS, one) else ""
    return f":{one.shown}:" + (f"({' '.join(one.choices)})" if one.choices else action)


def _fish(kind: type[Command]) -> Iterator[str]:
    when = f"complete -c regard -n '__fish_seen_subcommand_from {kind.called()}'"
    for option, one in _typed(kind).items():
        values = "" if one.switch else f" -r{_fish_values(one) or ' -f'}"
        yield f"{when} -l {option[2:]}{values} -d {_quoted(one.meaning)}"
    yield from (f"{when}{_fish_values(one)}" for one in places_of(kind) if _fish_values(one))


def _fish_values(one: Option) -> str:
    if one.choices or _are(FOLDERS, one):
        return f" -f -a {_quoted(' '.join(one.choices) or '(__fish_complete_directories)')}"
    return " -F" if _are(FILES, one) else ""


def _are(kinds: tuple[str, ...], *options: Option) -> bool:
    return any(one.shown in kinds for one in options)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
