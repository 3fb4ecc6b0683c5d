"""A task type in Python. Rename it, and `greet` in greet.yaml, to what yours is called."""
from sirdar_runner import Fatal, Job, serve


def run(job: Job) -> None:
    times = job.param("times", 1, int)
    if not 1 <= times <= 1000:
        raise Fatal(f"times is {times}, want 1..1000")
    for i in range(times):
        job.check()  # ends the job when it is told to stop
        print("hello", job.param("name", "world"), i + 1)
        job.progress(1000 * (i + 1) // times)
    job.output("said", times)


serve(run, name="greet", version="1.0", concurrency=8)
