"""Docstrings as Markdown: examples become blocks of code, and roles become names."""

import re

import griffe

EXAMPLE = re.compile(r"(?m)^( *)>>> (?:.*\n?)(?:^ *\S.*\n?)*")
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc):`~?(.*?)`")


def fenced(match):
    lines = match[0].rstrip("\n").splitlines()
    return "\n".join([f"{match[1]}```pycon", *lines, f"{match[1]}```"]) + "\n"


class Docstrings(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(fenced, ROLE.sub(r"`\1`", obj.docstring.value))
