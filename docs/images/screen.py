#!/usr/bin/env python3
"""Turns a terminal's screen into a picture.

    tmux capture-pane -t play -e -p | docs/images/screen.py > docs/images/transport-bar.svg

Reads text with colours as tmux writes it, writes SVG. Nothing but Python's own library is needed.
"""

import re
import sys
from html import escape

BACKGROUND, FOREGROUND = "#11151c", "#d5dbe5"
COLOURS = ["#2b303b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4"]
BRIGHT = ["#5c6370", "#ff7b86", "#b5e890", "#ffd479", "#7cc4ff", "#e29bf5", "#6fdbe8", "#ffffff"]
WIDTH, HEIGHT, MARGIN = 8.43, 18, 14


def runs(line):
    """The line in pieces of one look: column, text, colour, background, bold, dim, reversed."""
    column, colour, paper, bold, dim, swap = 0, None, None, False, False, False
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not piece.startswith("\x1b"):
            if piece:
                yield column, piece, colour, paper, bold, dim, swap
            column += len(piece)
            continue
        codes = [int(code or 0) for code in piece[2:-1].split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                colour, paper, bold, dim, swap = None, None, False, False, False
            elif code in (1, 2):
                bold, dim = bold or code == 1, dim or code == 2
            elif code == 22:
                bold, dim = False, False
            elif code in (7, 27):
                swap = code == 7
            elif 30 <= code <= 37:
                colour = COLOURS[code - 30]
            elif 90 <= code <= 97:
                colour = BRIGHT[code - 90]
            elif code == 38 and codes[:1] == [5]:
                colour = (COLOURS + BRIGHT)[codes[1] % 16]
                codes = codes[2:]
            elif code in (38, 48) and codes[:1] == [2]:
                true = "#{:02x}{:02x}{:02x}".format(*codes[1:4])
                colour, paper = (true, paper) if code == 38 else (colour, true)
                codes = codes[4:]
            elif code == 39:
                colour = None
            elif code == 49:
                paper = None


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
          f'viewBox="0 0 {width:.0f} {height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
          f'font-size="14" fill="{FOREGROUND}">')
    print(f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>')
    for row, line in enumerate(lines):
        y = MARGIN + row * HEIGHT
        for column, text, colour, paper, bold, dim, swap in runs(line):
            if not text.strip() and not swap and not paper:
                continue
            x, length = MARGIN + column * WIDTH, len(text) * WIDTH
            ink = colour or FOREGROUND
            if swap:
                ink, paper = paper or BACKGROUND, ink
            if paper:
                print(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{HEIGHT}" fill="{paper}"/>')
            look = (' font-weight="bold"' if bold else "") + (' opacity="0.55"' if dim else "")
            print(f'<text x="{x:.1f}" y="{y + 14}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs" '
                  f'fill="{ink}" xml:space="preserve"{look}>{escape(text)}</text>')
    print("</svg>")


main()
