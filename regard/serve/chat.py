"""A conversation as a prompt: the run's own template, in a sandbox."""

from collections.abc import Sequence

from regard.serve.served import Served
from regard.serve.wire import Declined
from regard.serve.writing import within

LARGEST = 1 << 20  # characters that a template may make


def rendered(served: Served, messages: Sequence[tuple[str, str]]) -> list[int]:
    """The tokens of a conversation whose next word is the assistant's."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    found = served.run.chat_template
    if found is None:
        raise Declined(400, f"'{served.name}' has no chat template; use /v1/completions", "model", "no_chat_template")
    if not messages:
        raise Declined(400, "'messages' must not be empty", "messages")

    def refuse(text: str) -> str:
        raise TemplateError(text)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, loader=None)
    environment.globals = {"raise_exception": refuse}
    told = {"messages": [{"role": role, "content": text} for role, text in messages], "add_generation_prompt": True}
    names = {name: word for name, word in found.items() if name != "template"}
    made = []
    try:
        for piece in environment.from_string(found["template"]).generate(told | names):
            made.append(piece)
            if sum(map(len, made[-1:])) > LARGEST or len(made) > LARGEST:
                raise TemplateError("it makes too much")
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Declined(400, f"the chat template of '{served.name}' refuses this: {error}", "messages") from None
    return within(served, served.run.tokenizer.encode_marked("".join(made)), "the messages have", "messages")
