#!/usr/bin/env python3
"""Makes docs/book/LANGUAGE/errors.md: each failure of schema/tbl/err.def with its cause and what to do (errors.txt),
and the exit codes. `make docs/errors` writes the pages; tests/lint/book.py holds them current."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROW = re.compile(r'^ERR\((\w+), *(\d+), (\d+), ([01]), "((?:[^"\\]|\\.)*)"\)', re.M)
HEAD = {
    "en": ("# <a id=\"errors\"></a>Errors\n\nEach refusal has a code, a place (what of the request, or of the file, is meant), a sentence, and often a hint. In JSON: "
           "`{\"error\": {\"code\", \"message\", \"place\", \"hint\", \"retry\", \"request_id\"}}`. `retry` says that the same request may be good later; "
           "a command that is repeated under its request id has no second effect. The request id stands in the log of `sirdar-cgi` too.\n\n"
           "| code | HTTP | again? | cause | what to do |\n|---|---|---|---|---|\n", "yes"),
    "zh": ("# <a id=\"errors\"></a>错误\n\n每次拒绝都有代码、位置（请求或文件的哪一处）、一句话，往往还有提示。JSON 中为 "
           "`{\"error\": {\"code\", \"message\", \"place\", \"hint\", \"retry\", \"request_id\"}}`。`retry` 表示同一请求过后可能成功；"
           "用同一请求编号重复的命令不会再次生效。请求编号也写在 `sirdar-cgi` 的日志里。\n\n"
           "| 代码 | HTTP | 可重试 | 原因 | 处理 |\n|---|---|---|---|---|\n", "是"),
}
FOOT = {
    "en": "\nExit codes of `sirdar` and of the daemons: [Operations](operations.md). Why an attempt failed, in classes: [Logs](logs.md#why-an-attempt-failed). "
          "Why an instance does not start: [gates](gates.md).\n",
    "zh": "\n`sirdar` 和各守护进程的退出码：[运维操作](operations.md)。尝试为什么失败，分哪几类：[日志](logs.md#why-an-attempt-failed)。实例为什么还没开始：[关卡](gates.md)。\n",
}


def remedies():
    rows = (line.split(" | ") for line in (HERE / "errors.txt").read_text("utf-8").splitlines() if not line.startswith("#"))
    return {name: rest for name, *rest in rows}


def page(lang, table):
    head, yes = HEAD[lang]
    known, lines = remedies(), []
    for name, _, http, again, text in ROW.findall(table):
        if name not in known or len(known[name]) != 3:
            raise SystemExit(f"docs/book/errors.txt: no row of four cells for {name}")
        remedy, cause_zh, remedy_zh = known[name]
        cause, do = (text, remedy) if lang == "en" else (cause_zh, remedy_zh)
        lines.append(f"| `{name}` | {http} | {yes if again == '1' else ''} | {cause} | {do} |\n")
    return head + "".join(lines) + FOOT[lang]


def main():
    table = (HERE.parents[1] / "schema/tbl/err.def").read_text("utf-8")
    for lang in HEAD:
        path, text = HERE / lang / "errors.md", page(lang, table)
        if "--check" in sys.argv and (not path.exists() or path.read_text("utf-8") != text):
            raise SystemExit(f"{path.relative_to(HERE.parents[1])} is not what errors.py makes of the tables: make docs/errors")
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")


main()
