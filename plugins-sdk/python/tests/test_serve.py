"""The SDK against a broker made of two pipes: python3 -m unittest discover -s tests"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

GUEST = r"""
import sys
from sirdar_runner import Fatal, NotYet, Result, serve
def run(job):
    do = job.param("do", "")
    if do == "fatal": raise Fatal("no")
    if do == "raise": raise ValueError("oops")
    if do == "later": raise NotYet("later", 1.5)
    if do == "int": job.param("n", 0, int)
    if do == "print": print("hello", flush=True)
    if do == "secret": job.output("got", job.secret("key"))
    if do == "wait": job.pause(600)
    if do == "exit": sys.exit(3)
    if do == "token": return Result(0, text=str(job.token))
    return int(job.param("code", 0, int))
serve(run, name="t", concurrency=int(sys.argv[1]))
"""


class Broker:
    def __init__(self, concurrency=1):
        told, self.to = os.pipe()
        self.answers, said = os.pipe()

        def place():
            os.dup2(told, 13), os.dup2(said, 14)
            os.dup2(13, 3), os.dup2(14, 4)
        self.process = subprocess.Popen([sys.executable, "-c", GUEST, str(concurrency)], preexec_fn=place, close_fds=False,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env={"SIRDAR_GUEST": "1", "PYTHONPATH": str(Path(__file__).parents[1])})
        os.close(told), os.close(said)
        self.lines = os.fdopen(self.answers)
        self.id = 0
        self.tell(op="hello", protocol=1, type="t")
        self.hello = self.hear()

    def tell(self, **m):
        os.write(self.to, json.dumps(m).encode() + b"\n")

    def hear(self):
        return json.loads(self.lines.readline())

    def run(self, **params):
        self.id += 1
        self.tell(op="run", job=self.id, token=str(2**64 - 1), params=params, secrets={"pw": "tulip"})
        return self.hear()

    def close(self):
        os.close(self.to)
        code = self.process.wait(60)
        self.lines.close()
        self.process.stdout.close()
        return code


class Serve(unittest.TestCase):
    def setUp(self):
        self.b = Broker()

    def tearDown(self):
        self.assertEqual(self.b.close(), 0)

    def test_it_says_hello(self):
        self.assertEqual((self.b.hello["op"], self.b.hello["protocol"], self.b.hello["concurrency"]), ("hello", 1, 1))

    def test_ends(self):
        run = self.b.run
        self.assertEqual(run(), {"op": "done", "job": 1})
        self.assertEqual(run(code="7")["exit_code"], 7)
        self.assertEqual(run(do="exit")["exit_code"], 3)
        end = run(do="fatal")
        self.assertEqual((end["verdict"], end["text"]), ("fatal", "no"))
        self.assertEqual(run(do="raise")["text"], "ValueError: oops")
        end = run(do="later")
        self.assertEqual((end["verdict"], end["retry_after_ms"]), ("not_yet", 1500))
        self.assertEqual(run(do="int", n="x")["verdict"], "fatal")
        self.assertEqual(run(do="token")["text"], str(2**64 - 1))

    def test_a_secret_is_found_by_the_parameter_that_names_it(self):
        self.assertEqual(self.b.run(do="secret", key="pw")["value"], "tulip")
        self.b.hear()

    def test_a_job_that_waits_answers_pings_and_stops_when_told(self):
        self.b.tell(op="run", job=99, params={"do": "wait"})
        self.b.tell(op="ping", n=5)
        self.assertEqual(self.b.hear(), {"op": "pong", "n": 5})
        self.b.tell(op="kill", job=99)
        self.assertEqual(self.b.hear()["exit_code"], -15)

    def test_what_a_job_prints_is_on_its_stdout(self):
        self.b.run(do="print")
        self.assertEqual(self.b.process.stdout.readline(), b"hello\n")


class Several(unittest.TestCase):
    def test_of_several_jobs_each_has_its_own_log(self):
        b = Broker(4)
        b.tell(op="run", job=50, params={"do": "wait"})
        self.assertEqual(b.run(do="print")["op"], "log")
        os.close(b.to)
        b.process.wait(60)
        b.lines.close()
        b.process.stdout.close()


if __name__ == "__main__":
    unittest.main()
