"""Runners of Sirdar's task types in Python: one process, many jobs. Standard library only, Python 3.9 or later.

    from sirdar_runner import Job, serve

    def run(job: Job) -> None:
        print("hello", job.param("name", "world"))

    serve(run)

What `run` returns is the job's exit code (None: 0); what it raises fails the job. The protocol is FOREIGN.md.
"""
from ._job import Cancelled, Fatal, Infrastructure, Job, NotYet, Result, Retry
from ._serve import PROTOCOL, VERSION, serve

__all__ = ["PROTOCOL", "VERSION", "Cancelled", "Fatal", "Infrastructure", "Job", "NotYet", "Result", "Retry", "serve"]
__version__ = VERSION
