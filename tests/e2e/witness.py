"""The witness of a run, outside the product: what the jobs themselves write. A ledger line at the start and
the end of each execution, appended whole, shows afterwards what ran; a lock held on a file per instance shows
an overlap as it happens."""
from harness import Late, until

JOB = r"""
exec 9>>{dir}/locks/$SIRDAR_TASK_ID.$SIRDAR_RUN_DATE
if flock -n 9; then o=free; else o=OVERLAP; fi
me="$SIRDAR_TASK_ID $SIRDAR_RUN_DATE $SIRDAR_GENERATION $SIRDAR_ATTEMPT $SIRDAR_FENCE_TOKEN"
echo "start $me $o" >> {dir}/ledger
{work}
echo "end $me {code}" >> {dir}/ledger
exit {code}
"""
# Needs and repeats of every kind: the parent of this date, of the date before, one that fails.
WORKFLOW = """workflow: {name}
project: e2e
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01 00:{last:02}
defaults: {{type: shell, catchup: {{mode: all, max: 100000}}, retry: {{attempts: 3, delay: 0s}}}}
tasks:
  a:
    cycle: minute
    params:
      script: |
{quick}
  b:
    cycle: minute
    needs: [a]
    params:
      script: |
{slow}
  c:
    cycle: minute
    needs: [b, {{task: c, depend: -1}}]
    params:
      script: |
{quick}
  fails:
    cycle: {fails} minute
    needs: [{{task: a, depend: 2}}]
    retry: {{attempts: 2, delay: 0s}}
    params:
      script: |
{failing}
"""
FAILS = 9  # the exit code of those that fail


def script(folder, work, code=0):
    """The body of a job that does `work`, as lines of a document."""
    text = JOB.format(dir=folder, work=work, code=code)
    return "".join(f"        {line}\n" for line in text.strip().splitlines()).rstrip("\n")


class Load:
    """Workflows applied one after the other while faults go on, so that there is always something to run,
    and what their jobs said. `works` gives what the quick, the slow and the failing job of a workflow do."""

    def __init__(self, s, folder, name, minutes, fails, works):
        self.s, self.folder, self.name, self.rounds = s, folder, name, 0
        self.minutes, self.fails, self.works = minutes, fails, works
        (folder / "locks").mkdir(parents=True)
        (folder / "ledger").touch()

    def more(self):
        """Asked for again under the same id until it is acknowledged."""
        n, (quick, slow, failing) = self.rounds, self.works()
        text = WORKFLOW.format(name=f"{self.name}{n}", last=self.minutes - 1, fails=self.fails,
                               quick=script(self.folder, quick), slow=script(self.folder, slow),
                               failing=script(self.folder, failing, code=FAILS))

        def ask():
            try:
                return self.s.apply(text, request_id=f"{n:032x}", **{"from": "2026-03-01"})
            except Exception as e:  # noqa: BLE001
                self.last = e
                return None
        try:
            until("the workflow is taken", ask, 60, every=0.1)
        except Late:
            raise Late(f"the workflow is not taken: {self.last}") from None
        self.rounds += 1

    def each(self):
        return 3 * self.minutes + self.minutes // self.fails

    def total(self):
        return self.rounds * self.each()

    def all_over(self, seconds):
        """-> every instance, once all are final: a workflow after the other, for one question has a thousand tasks at most."""
        return [i for n in range(self.rounds) for i in self.s.wait_all_over(f"e2e/{self.name}{n}/*", self.each(), seconds)]

    def lines(self):
        """word, task, date, generation, attempt, token, and what: free or OVERLAP, or the exit code."""
        return [line.split() for line in (self.folder / "ledger").read_text().splitlines()]

    def ends(self):
        return sum(words[0] == "end" for words in self.lines())
