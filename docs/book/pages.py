#!/usr/bin/env python3
"""Makes the manual's pages: pages.py OUT. Markdown becomes HTML by cmark-gfm (as GitHub shows the same files); this adds the
frame, the names of places, links between pages, and an index to search in. No page asks anything of another host, and none
has a script or style of its own in it, so the cgi's Content-Security-Policy holds. Pages of docs/ that the book links to
stand in more/."""
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORDS = {
    "en": {"title": "Sirdar", "search": "Find in the manual", "none": "No match", "other": "中文", "print": "On this page", "skip": "To the text"},
    "zh": {"title": "Sirdar", "search": "在手册中查找", "none": "没有找到", "other": "English", "print": "本页内容", "skip": "跳到正文"},
}
LANGUAGES = {"en": "en", "zh": "zh-CN"}
HEAD = re.compile(r"<h([1-6])>(.*?)</h\1>", re.S)
PLACE = re.compile(r'<a id="([^"]+)"></a>')
LINK = re.compile(r'(<a href=|<img src=)"([^"]+)"')
PAGE = re.compile(r"\]\(([\w-]+\.md)\)")


def anchor(title):
    """As tests/lint/twins.py and the console."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def plain(text):
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()


def marked(source):
    done = subprocess.run(["cmark-gfm", "--unsafe", "--full-info-string", "-e", "table"], input=source, capture_output=True, text=True, check=True)
    return done.stdout


def with_places(body):
    """Headings say their place; -> body, [(depth, place, title)]"""
    found = []

    def one(m):
        own, title = PLACE.search(m[2]), PLACE.sub("", m[2]).strip()
        place = own[1] if own else anchor(plain(title))
        found.append((int(m[1]), place, plain(title)))
        return f'<h{m[1]} id="{place}">{title} <a class="place" href="#{place}" aria-label="#">#</a></h{m[1]}>'
    return HEAD.sub(one, body), found


def in_frames(body):
    """Files say their name, wide tables scroll by themselves."""
    body = re.sub(r'<pre><code class="[^"]*" data-meta="([^"]+)">', r'<p class="file">\1</p><pre tabindex="0"><code>', body)
    body = body.replace("<pre>", '<pre tabindex="0">')
    return body.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")


class Book:
    def __init__(self, out):
        self.out, self.more = out, {}

    def target(self, source, to):
        """Where a link of a page leads in OUT; None: nowhere in it."""
        file, _, place = to.partition("#")
        if not file or re.match(r"[a-z]+:", to):
            return to
        path = (source.parent / file).resolve()
        if HERE in path.parents and path.suffix == ".md":
            found = Path("..") / path.relative_to(HERE).with_suffix(".html")
        elif path.suffix == ".png":
            found = Path("../screenshots") / path.name
        elif path.suffix == ".md" and path.is_file() and ROOT in path.parents:
            name = str(path.relative_to(ROOT).with_suffix("")).replace("docs/", "", 1).replace("/", "-") + ".html"
            if HERE in source.parents:
                self.more[path] = name
            elif path not in self.more:
                return None
            found = Path("../more") / name
        else:
            return None
        return f"{found}#{place}" if place else str(found)

    def linked(self, source, body):
        def one(m):
            to = self.target(source, html.unescape(m[2]))
            return f'{m[1]}"{html.escape(to)}"' if to else ("<a" if m[1].startswith("<a") else '<img src=""')
        return LINK.sub(one, body)

    def frame(self, lang, title, body, menu, twin, name):
        w = WORDS[lang]
        other = "zh" if lang == "en" else "en"
        return f"""<!doctype html>
<html lang="{LANGUAGES[lang]}" data-lang="{lang}" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)} · {w['title']}</title>
<link rel="stylesheet" href="../style/tokens.css">
<link rel="stylesheet" href="../style/book.css">
<script src="../style/book.js"></script>
</head>
<body data-page="{name}">
<a class="skip" href="#text">{w['skip']}</a>
<header><a class="home" href="../{lang}/index.html">{w['title']}</a>
<div class="search"><input type="search" placeholder="{w['search']}" aria-label="{w['search']}" data-index="../{lang}/search.json" data-none="{w['none']}"><ol hidden></ol></div>
<a class="other" hreflang="{LANGUAGES[other]}" href="{twin}">{w['other']}</a></header>
<div class="columns">
<nav aria-label="{w['title']}">{menu}</nav>
<main id="text">{body}</main>
</div>
</body>
</html>
"""

    def menu(self, lang, current, heads):
        """The table of contents, with the sections of the page that is read."""
        lines = []
        for line in (HERE / lang / "index.md").read_text("utf-8").splitlines():
            if line.startswith("## "):
                lines.append(f"<h2>{html.escape(PLACE.sub('', line[3:]))}</h2>")
            for title, page in re.findall(r"\[([^\]]+)\]\(([\w-]+)\.md\)", line) if re.match(r"\d", line) else []:
                here = ' aria-current="page"' if page == current else ""
                lines.append(f'<a href="{page}.html"{here}>{html.escape(title)}</a>'.replace('href="', f'href="../{lang}/'))
                if page == current:
                    lines += [f'<a class="section" href="#{place}">{html.escape(t)}</a>' for depth, place, t in heads if depth == 2]
        return "\n".join(lines)

    def page(self, lang, name, index):
        source = HERE / lang / f"{name}.md"
        body, heads = with_places(in_frames(marked(source.read_text("utf-8"))))
        body = self.linked(source, body)
        for part in re.split(r"(?=<h[12] id=)", body):
            own = re.match(r'<h[12] id="([^"]+)">(.*?) <a class="place"', part, re.S)
            if own:
                index.append([heads[0][2], plain(own[2]), f"{name}.html#{own[1]}", " ".join(plain(part).split()).lower()])
        twin = f"../{'zh' if lang == 'en' else 'en'}/{name}.html"
        (self.out / lang / f"{name}.html").write_text(self.frame(lang, heads[0][2], body, self.menu(lang, name, heads), twin, name), "utf-8")

    def others(self):
        (self.out / "more").mkdir()
        for path, name in sorted(self.more.items()):
            body, heads = with_places(in_frames(marked(path.read_text("utf-8"))))
            title = heads[0][2] if heads else name
            text = self.frame("en", title, self.linked(path, body), self.menu("en", None, []), "../zh/index.html", name)
            (self.out / "more" / name).write_text(text, "utf-8")

    def make(self):
        for folder in (*LANGUAGES, "style", "screenshots"):
            (self.out / folder).mkdir(parents=True)
        for lang in LANGUAGES:
            index = []
            for name in dict.fromkeys(["index", *(p[:-3] for p in PAGE.findall((HERE / lang / "index.md").read_text("utf-8")))]):
                self.page(lang, name, index)
            (self.out / lang / "search.json").write_text(json.dumps(index, ensure_ascii=False), "utf-8")
        self.others()
        shutil.copy(ROOT / "admin-console/web/src/styles/tokens.css", self.out / "style/tokens.css")
        for file in ("book.css", "book.js"):
            shutil.copy(HERE / file, self.out / "style" / file)
        for picture in (ROOT / "docs/screenshots").glob("*.png"):
            shutil.copy(picture, self.out / "screenshots")
        shutil.copy(HERE / "index.html", self.out / "index.html")


def main():
    out = Path(sys.argv[1])
    new = out.with_name(out.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    Book(new).make()
    shutil.rmtree(out, ignore_errors=True)
    new.rename(out)


main()
