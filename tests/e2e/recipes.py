"""Recipes of the manual, read from their Markdown and run as they stand there.

A recipe is a section of a page. Its ```yaml NAME blocks are files (NAME may be a path below the recipe's folder; of any
language). Its ```console blocks are a session: `$ ` begins a command, which goes on as long as a line ends with a
backslash; what follows is what the command prints. Each line that stands there is printed, in that order; a line may
stand for more than it says with `...`, blanks count as one. A line of one word in capitals (CODE, KEY) is what the command
printed: later commands have it in the place of that word. A command ends with 0, unless `; echo $?` shows how it ends.
What a recipe wants of another it says before its first block, in a line "After [that one](#place)": that is run before it."""
import re
import subprocess
import time
from dataclasses import dataclass, field

HEAD = re.compile(r'^(#+) (?:<a id="([^"]+)"></a>)?(.*)$')
AFTER = re.compile(r"^(?:After|接在) ?\[")
LINK = re.compile(r"\]\((?:[\w-]+\.md)?#([\w-]+)\)")
FENCE = re.compile(r"^```(\w*) ?(\S*)$")
LOOKS = re.compile(r"sirdar (logs|why|failures|baselines|(run|alert|broker|peer|type|plugin|pool|audit) (list|show|history))\b")
CAPTURED = re.compile(r"^[A-Z]{3,}$")


@dataclass
class Step:
    command: str
    line: int
    prints: list = field(default_factory=list)


@dataclass
class Recipe:
    place: str
    title: str
    steps: list = field(default_factory=list)  # ("file", name, text) or ("run", Step)
    after: list = field(default_factory=list)  # places of recipes: "how-backfill"


def steps_of(lines, number):
    """The commands of one session."""
    found, goes_on = [], False
    for n, line in enumerate(lines, number):
        if goes_on:
            found[-1].command += "\n" + line
        elif line.startswith("$ "):
            found.append(Step(line[2:], n))
        else:
            found[-1].prints.append(line)
        goes_on = line.endswith("\\") and (goes_on or line.startswith("$ "))
    return found


def recipes(text):
    """Sections of a page that hold a session, in order."""
    found, lines, i = [], text.splitlines(), 0
    while i < len(lines):
        head, fence = HEAD.match(lines[i]), FENCE.match(lines[i])
        if head:
            found.append(Recipe(head[2] or "", head[3]))
        elif fence:
            end = lines.index("```", i + 1)
            body = lines[i + 1:end]
            if fence[1] == "console":
                found[-1].steps += [("run", s) for s in steps_of(body, i + 2)]
            elif fence[2]:
                found[-1].steps.append(("file", fence[2], "\n".join(body) + "\n"))
            i = end
        elif found and not found[-1].steps and AFTER.match(lines[i]):
            found[-1].after += LINK.findall(lines[i])
        i += 1
    return [r for r in found if r.steps]


def matches(stated, line):
    parts = [re.escape(" ".join(p.split())) for p in stated.split("...")]
    return re.fullmatch(".*".join(parts), " ".join(line.split())) is not None


def lacks(stated, printed):
    """The first stated line that the answer does not have, in order; or None."""
    left = iter(printed)
    for want in stated:
        if want.strip() != "..." and not any(matches(want, line) for line in left):
            return want
    return None


def put_in(command, said):
    return re.sub(r"\b[A-Z]{3,}\b", lambda m: said.get(m[0], m[0]), command)


def captured(step):
    """The word that stands for all it prints on standard output, or None."""
    return step.prints[0] if len(step.prints) == 1 and CAPTURED.match(step.prints[0]) else None


class Session:
    """Commands in a folder, with what earlier ones printed. `places`: (path as the manual has it, path here);
    `instead`: called first with a command, gives what it printed, or None to have it run."""

    def __init__(self, folder, env, places=(), instead=None):
        self.folder, self.env, self.places, self.instead, self.said = folder, env, places, instead, {}

    def translate(self, text):
        for here, there in self.places:
            text = text.replace(here, str(there))
        return text

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.translate(text))

    def run(self, step, seconds):
        """-> (exit code, standard output, that and standard error)"""
        if self.instead and (done := self.instead(step.command)) is not None:
            return 0, done, done
        apart = subprocess.PIPE if captured(step) else subprocess.STDOUT
        done = subprocess.run(["bash", "-o", "pipefail", "-c", put_in(self.translate(step.command), self.said)], cwd=self.folder, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=apart, timeout=seconds)
        return done.returncode, done.stdout, done.stdout + (done.stderr or "")

    def fault(self, step, code, out, printed):
        """What is wrong with an answer, or None."""
        if code != 0:
            return f"exit {code}"
        if captured(step):
            self.said[captured(step)] = out.strip()
            return None
        want = lacks([put_in(self.translate(p), self.said) for p in step.prints], printed.splitlines())
        return None if want is None else f"does not print {want!r}"

    def take(self, step, seconds=120):
        """Run it and judge the answer. What only looks is asked until it sees what the manual shows: logs, alerts and the
        state of a machine come a moment after what they tell of."""
        end = time.monotonic() + seconds
        while True:
            code, out, printed = self.run(step, seconds)
            wrong = self.fault(step, code, out, printed)
            if wrong is None:
                return printed
            assert LOOKS.match(step.command) and time.monotonic() < end, f"line {step.line}: {step.command}: {wrong}\n{printed}"
            time.sleep(0.2)
