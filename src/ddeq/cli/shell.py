"""``ddeq shell``: lets the shell complete commands, options and file names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["add_parser", "run"]

_INSTALL = {
    "bash": 'eval "$(ddeq shell bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(ddeq shell zsh)"   # in ~/.zshrc, after compinit',
    "fish": "ddeq shell fish | source   # in ~/.config/fish/config.fish",
}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    lines = "\n".join(f"  {line}" for line in _INSTALL.values())
    parser = subparsers.add_parser(
        "shell",
        help="completion of commands and options with the tab key",
        description=f"Prints a script for your shell. To have it in every new one:\n\n{lines}\n",
        epilog='Example: eval "$(ddeq shell bash)"',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=tuple(_INSTALL), help="which shell")
    parser.set_defaults(run=run, commands=subparsers)


@dataclass(frozen=True)
class Command:
    """A command as a shell has to know it.

    Attributes:
        name: Its name.
        help: One line.
        options: Each long option with its one line.
        choices: Words that its arguments and options may be, besides file names.
    """

    name: str
    help: str
    options: tuple[tuple[str, str], ...]
    choices: tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.name]
    print(script(_commands(args.commands)), end="")
    return 0


def _commands(subparsers: argparse._SubParsersAction) -> list[Command]:
    """All commands, from the parsers themselves, so that nothing is written twice."""
    helps = {action.dest: action.help or "" for action in subparsers._choices_actions}
    found = []
    for name, parser in subparsers.choices.items():
        options: list[tuple[str, str]] = []
        choices: list[str] = []
        for action in parser._actions:
            text = (action.help or "").replace("%%", "%").replace("%(default)s", "")
            options += [(o, text) for o in action.option_strings if o.startswith("--")]
            choices += [str(choice) for choice in action.choices or ()]
        found.append(Command(name, helps.get(name, ""), tuple(options), tuple(choices)))
    return found


def _words(command: Command) -> str:
    return " ".join([*(option for option, _ in command.options), *command.choices])


def _quoted(text: str) -> str:
    """Inside single quotes of bash and zsh."""
    return text.replace("'", "'\\''")


def _bash(commands: Sequence[Command]) -> str:
    cases = "\n".join(f"        {c.name}) words='{_words(c)}' ;;" for c in commands)
    names = " ".join(c.name for c in commands)
    return f"""_ddeq() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{names} --help' -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    case "$current" in
        -*) ;;
        *) local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$current")) ;;
    esac
}}
complete -o filenames -F _ddeq ddeq
"""


def _zsh(commands: Sequence[Command]) -> str:
    names = "\n".join(f"        '{c.name}:{_quoted(c.help)}'" for c in commands)
    cases = "\n".join(
        f"        {c.name}) options=({_zsh_options(c)}); choices=({' '.join(c.choices)}) ;;"
        for c in commands
    )
    return f"""#compdef ddeq
_ddeq() {{
    local -a commands options choices
    commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    case "$words[2]" in
{cases}
    esac
    if [[ "$words[CURRENT]" == -* ]]; then
        _describe -o 'option' options
        return
    fi
    (( $#choices )) && compadd -a choices
    _files
}}
compdef _ddeq ddeq
"""


def _zsh_options(command: Command) -> str:
    return " ".join(f"'{option}:{_quoted(text)}'" for option, text in command.options)


def _fish(commands: Sequence[Command]) -> str:
    lines = []
    for c in commands:
        lines.append(
            f"complete -c ddeq -f -n __fish_use_subcommand -a {c.name} -d '{_escaped(c.help)}'"
        )
        here = f"-n '__fish_seen_subcommand_from {c.name}'"
        lines += [
            f"complete -c ddeq {here} -l {option[2:]} -d '{_escaped(text)}'"
            for option, text in c.options
        ]
        if c.choices:
            lines.append(f"complete -c ddeq {here} -a '{' '.join(c.choices)}'")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Inside single quotes of fish."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
