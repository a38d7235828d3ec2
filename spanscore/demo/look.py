"""What the page shows as HTML, its style, and its few lines of JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import gradio as gr

_SIDES = {"predictions": "Predictions", "references": "References", "second": "Second system"}

# Fonts of the system, so that the page asks no other server for any.
THEME = gr.themes.Default(
    primary_hue="blue",
    font=["system-ui", "DejaVu Sans", "sans-serif"],
    font_mono=["ui-monospace", "DejaVu Sans Mono", "monospace"],
).set(
    # More contrast than Gradio's own colours.
    body_text_color_subdued="*neutral_600",
    body_text_color_subdued_dark="*neutral_300",
    block_info_text_color="*neutral_600",
    block_info_text_color_dark="*neutral_300",
    block_title_text_color="*neutral_700",
    button_primary_background_fill="*primary_700",
    button_primary_background_fill_hover="*primary_800",
    button_primary_background_fill_dark="*primary_700",
    button_primary_background_fill_hover_dark="*primary_800",
)

# In the head, since Gradio narrows the selectors of its argument `css`, and none with `.dark` would fit.
HEAD = """<style>
.status { font-size: 1.15rem; min-height: 1.6rem; overflow-wrap: anywhere; }
.status .headline { font-size: 2rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.status .error, .problems .error { color: #b42318; }
.dark .status .error, .dark .problems .error { color: #ff9a8f; }
.problems { overflow-wrap: anywhere; }
.problems ul { margin: .2rem 0 .6rem 1.2rem; list-style: disc; max-height: 16rem; overflow-y: auto; }
.report iframe {
    width: 100%; height: 85vh; border: 1px solid var(--border-color-primary); border-radius: 8px;
}
/* The colours of Gradio's code have too little contrast. */
.snippet .cm-line * { color: var(--body-text-color) !important; }
/* A file is kept for its session alone, so there is nothing to download again. */
.source td.download { visibility: hidden; }
</style>"""

# The report is a page of its own: without the rights of this page, and without its address. The value is a list with
# the text of the report, since Gradio takes a text for a part of its own page. The frame is made anew for each report:
# Chromium does not lay out a frame that was hidden before.
SHOW_REPORT = """
const show = () => {
    element.replaceChildren();
    const html = (props.value || [])[0];
    if (!html) return;
    const frame = document.createElement('iframe');
    frame.title = props.title;
    frame.sandbox = 'allow-scripts';
    frame.referrerPolicy = 'no-referrer';
    frame.onload = () => {
        frame.contentWindow.postMessage(document.body.classList.contains('dark') ? 'dark' : 'light', '*');
    };
    frame.srcdoc = html;
    element.append(frame);
};
watch('value', show);
show();
"""
# Gradio gives all its buttons for files the same name. Here each is named after its file.
NAME_UPLOADS = """
() => {
    const name = () => document.querySelectorAll('.source button.upload-container').forEach((button) => {
        const label = button.closest('.source').querySelector('label');
        const words = label.innerText.trim() + ': ' + button.innerText.trim();
        if (button.getAttribute('aria-label') !== words) button.setAttribute('aria-label', words);
    });
    new MutationObserver(name).observe(document.body, {childList: true, subtree: true});
    name();
}
"""
# Changes of the text in such an element are read aloud.
LIVE = "element.setAttribute('role', 'status'); element.setAttribute('aria-live', 'polite');"


def download(name: str, kind: str) -> str:
    """Write the JavaScript that saves a text as a file of the browser. Nothing is left on the server."""
    return f"""(given) => {{
    const text = Array.isArray(given) ? given[0] : given;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {{type: '{kind};charset=utf-8'}}));
    link.download = '{name}';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}}"""


def headline(result: Mapping[str, Any]) -> str:
    """The headline score with its interval, and the messages of reading."""
    score = result["headline"]
    words = f'{escape(score["name"])} <span class="headline">{escape(score["value"])}</span>'
    if score["interval"]:
        words += f" ({100 * score['level']:g} % interval {escape(' to '.join(score['interval']))})"
    return words + _messages(result["messages"])


def compared(result: Mapping[str, Any]) -> str:
    """The headline of a comparison, and the messages of reading."""
    return escape(result["headline"]) + _messages(result["messages"])


def _messages(lines: list[str]) -> str:
    return "".join(f"<br><small>{escape(line)}</small>" for line in lines)


def error(words: str) -> str:
    """The words of a mistake."""
    return f'<span class="error">{escape(words)}</span>'


def problems(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The problems of each file, with their places."""
    parts = []
    for side, file in found.items():
        listed, more = file["problems"], file["more"]
        read = f"format {file['format']}, {file['records']:,} records, " if file["format"] else ""
        n_problems = len(listed) + more
        count = f"{n_problems:,} problem{'s' * (n_problems != 1)}" if n_problems else "no problem"
        mark = ' class="error"' if n_problems else ""
        parts.append(f"<div{mark}>{_SIDES[side]}: {escape(read)}{count}</div>")
        if listed:
            items = "".join(
                f"<li>{'<b>' + escape(place) + '</b>: ' if place else ''}{escape(words)}</li>"
                for place, words in listed
            )
            rest = f"<li>and {more:,} more</li>" if more else ""
            parts.append(f'<ul tabindex="0" aria-label="Problems of the {side}">{items}{rest}</ul>')
    return "".join(parts)
