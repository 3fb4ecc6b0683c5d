#!/usr/bin/env python3
"""`--check-config` judges as a start does: what keeps a daemon from its work is refused beforehand, in the same words, and what lets it
start is good. One table for all daemons; it leaves nothing behind. TAP."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, free_port, main, test, until  # noqa: E402

LDAP = {"ldap_url": "ldap://127.0.0.1:1", "ldap_base": "dc=example", "ldap_filter": "(uid=%u)"}
OIDC = {"oidc_issuer": "https://127.0.0.1:1", "oidc_client_id": "x"}
# Whose, which settings, what is said. Files: `absent` is not there, `open` may be read by others, `junk` is none of what is asked for.
WRONG = [
    ("baseserver", {**LDAP, "ldap_url": "ldap://directory.example"}, "loopback"),
    ("baseserver", {**LDAP, "ldap_url": "http://127.0.0.1"}, "ldap"),
    ("baseserver", {**LDAP, "ldap_base": ""}, "ldap_base"),
    ("baseserver", {**LDAP, "ldap_filter": "(uid=ann)"}, "%u"),
    ("baseserver", {**LDAP, "ldap_bind_dn": "cn=x", "ldap_bind_secret_file": "absent"}, "absent"),
    ("baseserver", {**LDAP, "ldap_bind_dn": "cn=x", "ldap_bind_secret_file": "open"}, "open"),
    ("baseserver", {**LDAP, "ldap_role": "admin"}, "ldap_role"),
    ("baseserver", {**OIDC, "oidc_issuer": "http://provider.example"}, "oidc_issuer"),
    ("baseserver", {"oidc_issuer": "https://127.0.0.1:1"}, "oidc_client_id"),
    ("baseserver", {"store": "postgres://x"}, "postgres"),
    ("baseserver", {"keys_file": "absent"}, "absent"),
    ("baseserver", {"keys_file": "open"}, "open"),
    ("baseserver", {"keys_file": "junk"}, "junk"),
    ("baseserver", {"server_keys": "none"}, "server_keys"),
    ("baseserver", {"vault_url": "http://vault.example"}, "vault_url"),
    ("baseserver", {"listen": "nowhere"}, "listen"),
    ("baseserver", {"placement": "many"}, "placement"),
    ("sirdar-cgi", {**LDAP, "ldap_url": "ldap://directory.example"}, "loopback"),
    ("sirdar-cgi", {**LDAP, "ldap_filter": "(uid=ann)"}, "%u"),
    ("sirdar-cgi", {**LDAP, "ldap_role": "admin"}, "ldap_role"),
    ("sirdar-cgi", {**OIDC, "oidc_client_secret_file": "absent", "public_url": "https://x"}, ""),
    ("sirdar-cgi", {"trusted_proxies": "10.0.0.0/33"}, "trusted_proxies"),
    ("sirdar-cgi", {"trusted_proxies": "proxy.example"}, "trusted_proxies"),
    ("sirdar-cgi", {"second_factor": "some"}, "second_factor"),
    ("sirdar-cgi", {"key_file": "absent"}, "absent"),
    ("sirdar-cgi", {"key_file": "junk"}, "junk"),
    ("sirdar-cgi", {"certificate_file": "absent", "certificate_key_file": "absent"}, "absent"),
    ("sirdar-cgi", {"listen": "192.0.2.1:80"}, "loopback"),
    ("taskbroker", {"key_file": "absent"}, "absent"),
    ("taskbroker", {"key_file": "open"}, "open"),
    ("taskbroker", {"isolation": "landlock", "new_privileges": "true"}, "new_privileges"),
    ("taskbroker", {"isolation": "walls"}, "isolation"),
    ("sirdar-notifier", {"key_file": "absent"}, "absent"),
    ("sirdar-notifier", {"channels_file": "junk"}, "junk"),
    ("sirdar-notifier", {"language": "de"}, "language"),
]
MAP = [("junk", "junk"), ("absent", "absent"), ("shared", "one user")]


def settings(s, program, **more):
    """Those with which it starts, and `more`."""
    good = {"baseserver": lambda: {**s.base_sets, "listen": f"127.0.0.1:{free_port()}", "state_dir": s.dir / "other", "log_dir": s.dir / "other-logs"},
            "sirdar-cgi": lambda: {"listen": f"127.0.0.1:{free_port()}", "server": f"127.0.0.1:{s.port}", "key_file": s.dir / "cgi.key",
                                   "state_dir": s.dir / "other-cgi", "store": f"sqlite:{s.dir}/base", "web_dir": "", "docs_dir": ""},
            "taskbroker": lambda: {**s.broker_sets("b9", ("noop:1",)), "key_file": s.dir / "b1.key", "name": "b1", "state_dir": s.dir / "other-b"},
            "sirdar-notifier": lambda: {"server": f"127.0.0.1:{s.port}", "key_file": s.dir / "notifier.key", "state_dir": s.dir / "other-n",
                                        "store": f"sqlite:{s.dir}/base", "channels_file": s.dir / "no-channels"}}[program]()
    return {**good, **{k: s.dir / v if v in ("absent", "open", "junk", "shared") else v for k, v in more.items()}}


def run(s, program, sets, *more):
    return s.run([*s.argv(program, sets), *more], seconds=30)


def left(s):
    return sorted(str(p) for p in s.dir.rglob("*") if "other" in str(p.relative_to(s.dir)))


@test
def what_a_start_refuses_is_refused_beforehand_in_the_same_words(s):
    bad = []
    for program, wrong, words in WRONG:
        sets = settings(s, program, **wrong)
        checked = run(s, program, sets, "--check-config")
        if checked.returncode != 78 or words not in checked.stderr or "are good" in checked.stdout:
            bad.append(f"{program} {wrong}: checked: {checked.returncode} {checked.stderr or checked.stdout}")
            continue
        if left(s):
            bad.append(f"{program} {wrong}: left {left(s)}")
        started = run(s, program, sets)
        if started.returncode == 0 or words not in started.stderr + started.stdout:
            bad.append(f"{program} {wrong}: started: {started.returncode} {started.stderr}")
        for name in ("other", "other-logs", "other-cgi", "other-b", "other-n"):
            s.run(["rm", "-rf", s.dir / name])
    assert not bad, "\n".join(bad)


@test
def a_map_of_users_that_does_not_read_or_gives_two_projects_one_user_is_told(s):
    """A broker starts with it, for its other work, and says so; nothing else is wrong with it."""
    for name, words in MAP:
        sets = settings(s, "taskbroker", job_users_file=name)
        sets.pop("jobs_as_root", None)
        checked = run(s, "taskbroker", sets, "--check-config")
        assert checked.returncode == 78 and words in checked.stderr, (name, checked)


@test
def settings_with_which_a_daemon_starts_are_good_and_nothing_is_made(s):
    for program in ("baseserver", "sirdar-cgi", "taskbroker", "sirdar-notifier"):
        done = run(s, program, settings(s, program), "--check-config")
        assert done.returncode == 0 and "are good" in done.stdout, (program, done)
    for program, sets in (("baseserver", LDAP), ("baseserver", OIDC), ("sirdar-notifier", {"channels_file": "absent"})):
        done = run(s, program, settings(s, program, **sets), "--check-config")
        assert done.returncode == 0, done
    assert not left(s), left(s)


def site():
    s = Site("check")
    (s.dir / "open").write_text("x\n")
    (s.dir / "open").chmod(0o644)
    for name, text in (("junk", "{]\n"), ("shared", "a: nobody\nb: nobody\n")):
        (s.dir / name).touch(0o600)
        (s.dir / name).write_text(text)
    for name in ("b1", "notifier"):
        s.add_key(name)
    s.base.start()
    until("admin is there", s.first_password)
    assert (BIN / "sirdar-notifier").exists()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
