"""Rows of texts, the first of which is the head, written as Markdown, LaTeX, HTML and plain text.

What a name says stays text, whatever it would mean to one of these, or to a terminal.
"""

from collections.abc import Sequence
from html import escape

from .._support.printable import printable

__all__ = [
    "html_table",
    "in_latex",
    "in_markdown",
    "latex_table",
    "markdown_table",
    "on_one_line",
    "text_table",
]

LONGEST = 2_000  # characters of a name or a note

#: What means something to LaTeX and to Markdown, and how it is written instead.
LATEX = {sign: f"\\{sign}" for sign in "%_&#${}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "±": "$\\pm$",
    "−": "$-$",
    "–": "--",
    "α": "$\\alpha$",
    "τ": "$\\tau$",
}
MARKDOWN = {"\\": "\\\\", "|": "\\|", "&": "&amp;", "<": "&lt;", ">": "&gt;"}

#: How a row of HTML with an indented name looks, and the name itself.
INDENTED = ("; font-size: smaller", "; font-weight: normal; padding-left: 2em")

Rows = Sequence[Sequence[str]]


def markdown_table(rows: Rows) -> str:
    r"""Return the rows as a table of Markdown.

    >>> print(markdown_table([["", "Acc"], ["a|b", ".9"]]))
    |  | Acc |
    | --- | --- |
    | a\|b | .9 |
    <BLANKLINE>
    """
    head, *rest = ([*map(in_markdown, cells)] for cells in rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rest))


def latex_table(rows: Rows, *, caption: str) -> str:
    r"""Return the rows as a table of LaTeX with the rules of booktabs.

    >>> latex_table([["", "Acc"], ["and_mask", "±.9"]], caption="5 %").splitlines()[-4]
    'and\\_mask & $\\pm$.9 \\\\'
    """
    head, *rest = (" & ".join(map(in_latex, cells)) for cells in rows)
    body = " \\\\\n".join([f"{head} \\\\\n\\midrule\n{rest[0]}", *rest[1:]] if rest else [head])
    return (
        f"\\begin{{table}}\n\\caption{{{in_latex(caption)}}}\n\\begin{{tabular}}{{{'l' * len(rows[0])}}}\n"
        f"\\toprule\n{body} \\\\\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def html_table(rows: Rows, *, hints: Rows, caption: str) -> str:
    """Return the rows as a table of HTML, each number with its hint; rows with an indented name are small.

    >>> table = html_table([["", "Acc"], ["a<b", ".9"]], hints=[["", ""], ["", "5 seeds"]], caption="")
    >>> print(table.splitlines()[-2])
    <tr style="white-space: nowrap"><th scope="row" style="text-align: left">a&lt;b</th><td title="5
        seeds">.9</td></tr>
    """
    heads = [f'<th scope="col">{escape(on_one_line(title))}</th>' for title in rows[0]]
    told = f'<caption style="caption-side: bottom; text-align: left">{escape(on_one_line(caption))}</caption>'
    lines = [f"<table>{told}", f"<tr>{''.join(heads)}</tr>"]
    for (name, *cells), (_, *said) in zip(rows[1:], hints[1:], strict=True):
        row, head = INDENTED if _indent(name) else ("", "")
        titles = [f' title="{escape(hint)}"' * bool(hint) for hint in said]
        numbers = [f"<td{title}>{escape(cell)}</td>" for title, cell in zip(titles, cells, strict=True)]
        named = f'<th scope="row" style="text-align: left{head}">{escape(on_one_line(name))}</th>'
        lines.append(f'<tr style="white-space: nowrap{row}">{named}{"".join(numbers)}</tr>')
    return "\n".join([*lines, "</table>"]) + "\n"


def text_table(rows: Rows) -> str:
    """Return the rows with aligned columns: numbers stand beneath each other, a name may be indented.

    >>> print(text_table([["", "Acc"], ["fedavg", "90.1 ±2"], ["  last 10", "9.5"]]))
               Acc
    ---------  -------
    fedavg     90.1 ±2
      last 10   9.5
    <BLANKLINE>
    """
    names, *columns = ([on_one_line(cell) for cell in column] for column in zip(*rows, strict=True))
    names = [_indent(cells[0]) + name for cells, name in zip(rows, names, strict=True)]
    ruled = []
    for column in (names, *map(_aligned, columns)):
        width = max(map(len, column))
        ruled.append([cell.ljust(width) for cell in (column[0], "-" * width, *column[1:])])
    return "".join("  ".join(cells).rstrip() + "\n" for cells in zip(*ruled, strict=True))


def in_latex(text: str) -> str:
    """Return a text that LaTeX prints as it is, even where it would be an argument of the line before.

    >>> in_latex("[x_y]")
    '{}[x\\\\_y]'
    """
    written = "".join(LATEX.get(sign, sign) for sign in on_one_line(text))
    written = "{}" + written if written.startswith(("[", "*")) else written
    return f"\\quad {written}" if _indent(text) else written


def in_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is: no HTML, no link, no further column.

    >>> in_markdown("<b>[a](b)")
    '&lt;b&gt;[a]\\\\(b)'
    """
    written = "".join(MARKDOWN.get(sign, sign) for sign in on_one_line(text)).replace("](", "]\\(")
    return f"&nbsp;&nbsp;{written}" if _indent(text) else written


def on_one_line(text: str) -> str:
    r"""Return a text without line breaks and control characters.

    >>> on_one_line(" a\n\nb ")
    'a b'
    """
    return printable(" ".join(text.split()), limit=LONGEST)


def _indent(text: str) -> str:
    return "  " * text.startswith("  ")


def _aligned(column: Sequence[str]) -> list[str]:
    """Return a column whose numbers, the first words beneath the title, end in the same place."""
    words = [cell.partition(" ") for cell in column[1:]]
    width = max((len(first) for first, _, _ in words), default=0)
    return [column[0], *(first.rjust(width) + space + rest for first, space, rest in words)]
