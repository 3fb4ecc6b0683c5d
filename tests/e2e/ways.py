"""What tests of the ways in share: a directory (Debian's slapd), a site with one and a provider, and a browser on its way through
the provider. `judge_with` gives the server other settings of the provider, `Beside` a second cgi others of its own."""
import http.client
import json
import os
import pwd
import shutil
import signal
import subprocess
import urllib.parse  # noqa: F401
from pathlib import Path

from harness import Daemon, Site, Skip, free_port, until
from provider import Provider

WORD, BIND, CLIENT = "a directory word", "canary-bind-7d1c", "canary client&secret"
PEOPLE = ("dn: dc=x\nobjectClass: dcObject\nobjectClass: organization\no: x\ndc: x\n\n"
          "dn: ou=people,dc=x\nobjectClass: organizationalUnit\nou: people\n\n"
          "dn: ou=groups,dc=x\nobjectClass: organizationalUnit\nou: groups\n\n")


def person(uid):
    return (f"dn: uid={uid},ou=people,dc=x\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid.title()} of X\n"
            f"sn: x\nmail: {uid}@example.com\nuserPassword: {WORD}\n\n")


def ldap_group(name, *members):
    return f"dn: cn={name},ou=groups,dc=x\nobjectClass: groupOfNames\ncn: {name}\n" + "".join(
        f"member: uid={m},ou=people,dc=x\n" for m in members) + "\n"


class Slapd:
    def __init__(self, folder):
        if not Path("/usr/sbin/slapd").exists():
            raise Skip("no slapd")
        self.dir, self.port = folder / "slapd", free_port()
        (self.dir / "data").mkdir(parents=True)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.dir / "key.pem", "-out", self.dir / "cert.pem"],
                       check=True, capture_output=True)
        (self.dir / "slapd.conf").write_text(
            "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n"
            "include /etc/ldap/schema/inetorgperson.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n"
            f"pidfile {self.dir}/pid\nTLSCertificateFile {self.dir}/cert.pem\nTLSCertificateKeyFile {self.dir}/key.pem\n"
            "security simple_bind=128\nallow bind_anon_cred\n"
            f'database mdb\nsuffix "dc=x"\nrootdn "cn=root,dc=x"\nrootpw {BIND}\ndirectory {self.dir}/data\nmaxsize 10485760\n'
            "access to attrs=userPassword by anonymous auth by * none\naccess to * by * read\n")
        (self.dir / "x.ldif").write_text(PEOPLE + person("lea") + person("lou") + person("ann") + ldap_group("ops", "lea"))
        subprocess.run(["/usr/sbin/slapadd", "-f", self.dir / "slapd.conf", "-l", self.dir / "x.ldif"], check=True, capture_output=True)
        self.owner = []
        if os.getuid() == 0 and any(u.pw_name == "openldap" for u in pwd.getpwall()):
            self.owner = ["-u", "openldap", "-g", "openldap"]
            for path in [self.dir, *self.dir.rglob("*")]:
                shutil.chown(path, "openldap", "openldap")
        self.start()

    def start(self):
        self.proc = subprocess.Popen(["/usr/sbin/slapd", "-d", "0", "-h", f"ldap://127.0.0.1:{self.port}", "-f", self.dir / "slapd.conf",
                                      *self.owner], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until("slapd answers", lambda: self.change("version", "").returncode == 0, 30)

    def change(self, program, ldif):
        """ldapmodify or ldapadd as root; `version`: only whether it answers."""
        words = ["ldapwhoami"] if program == "version" else [program]
        done = subprocess.run([*words, "-x", "-ZZ", "-H", f"ldap://127.0.0.1:{self.port}", "-D", "cn=root,dc=x", "-w", BIND],
                              input=ldif, text=True, capture_output=True, env={**os.environ, "LDAPTLS_CACERT": str(self.dir / "cert.pem")})
        assert done.returncode == 0 or program == "version", done.stderr
        return done

    def stop(self):
        self.proc.send_signal(signal.SIGCONT)
        self.proc.send_signal(signal.SIGTERM)
        self.proc.wait(30)


def ask(s, method, path, body=None, **headers):
    """-> status, JSON, response; nobody's unless a header says so."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request(method, path, None if body is None else json.dumps(body),
                 {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}})
    r = link.getresponse()
    text = r.read()
    link.close()
    return r.status, json.loads(text) if "json" in (r.getheader("Content-Type") or "") else text, r


def login(s, user, password, **more):
    return ask(s, "POST", "/api/v1/login", {"user": user, "password": password, **more})


def cookies(r):
    return {"Cookie": "; ".join(v.split(";")[0] for k, v in r.getheaders() if k.lower() == "set-cookie")}


class Ways(Site):
    slapd = None

    def __init__(self):
        super().__init__("ways", secrets_key_file="/nowhere")
        self.cgi_port = self.http
        keys = self.dir / "secrets.keys"
        keys.touch(0o600)
        keys.write_text(f"one:{os.urandom(32).hex()}\n")
        self.base_sets["secrets_key_file"] = keys
        self.base.argv = self.argv("baseserver", self.base_sets)

    def get_first(self, path):
        """Of the cgi that this Site has its token of."""
        other, self.http = self.http, self.cgi_port
        try:
            return self.get(path)
        finally:
            self.http = other

    def close(self):
        if self.slapd:
            self.slapd.stop()
        super().close()


def begin(with_directory=True):
    """The server judges ID tokens; judge_with(s, oidc_issuer="") has one that does not."""
    s = Ways()
    try:
        s.provider = Provider(s.dir, "sirdar", CLIENT)
        for name, text in (("bind", BIND), ("client", CLIENT)):
            (s.dir / f"{name}.secret").touch(0o600)
            (s.dir / f"{name}.secret").write_text(text + "\n")
        same = {"oidc_issuer": s.provider.issuer, "oidc_client_id": "sirdar"}
        sets = {**same, "oidc_client_secret_file": s.dir / "client.secret", "oidc_name": "House",
                "oidc_redirect_url": f"http://127.0.0.1:{s.http}/api/v1/login/oidc/callback", "login_tries_per_minute": 1000}
        if with_directory:
            s.slapd = Slapd(s.dir)
            sets |= {"ldap_url": f"ldap://127.0.0.1:{s.slapd.port}", "ldap_start_tls": "true", "ldap_ca_file": s.slapd.dir / "cert.pem",
                     "ldap_base": "ou=people,dc=x", "ldap_bind_dn": "cn=root,dc=x", "ldap_bind_secret_file": s.dir / "bind.secret",
                     "ldap_group_base": "ou=groups,dc=x", "ldap_timeout_ms": 3000}
        s.base_sets |= same
        s.base.argv = s.argv("baseserver", s.base_sets)
        s.cgi.argv += [w for k, v in sets.items() for w in ("--set", f"{k}={v}")]
        s.start().believe()
    except BaseException:
        s.close()
        raise
    return s


def up(s):
    other, s.http = s.http, s.cgi_port
    try:
        return s.up()
    finally:
        s.http = other


class judge_with:
    """The server with other settings, meanwhile."""

    def __init__(self, s, **sets):
        self.s, self.sets = s, sets

    def begin(self, sets):
        s = self.s
        s.base.argv = s.argv("baseserver", {**s.base_sets, **sets})
        s.base.restart()
        until("the first cgi has the server again", lambda: up(s))
        until("the cgi has the server again", lambda: ask(s, "GET", "/readyz")[0] == 200)

    def __enter__(self):
        self.begin(self.sets)
        return self

    def __exit__(self, *_):
        self.begin({})


def admin(s, method, path, body=None):
    status, answer, _ = ask(s, method, path, body, Authorization=f"Bearer {s.token}")
    assert status < 300, (path, status, answer)
    return answer


class Beside:
    """A second cgi with other settings, which a test talks to instead."""

    def __init__(self, s, **sets):
        self.s, self.first = s, s.http
        words = [str(w) for w in s.cgi.argv]
        self.port, folder = free_port(), s.dir / f"cgi-{free_port()}"
        sets = {"listen": f"127.0.0.1:{self.port}", "state_dir": folder, **sets}
        self.cgi = Daemon(s, folder.name, words + [w for k, v in sets.items() for w in ("--set", f"{k}={v}")], r"cgi\.ready")

    def __enter__(self):
        self.cgi.start()
        self.s.http = self.port
        try:
            until("the server is there", lambda: ask(self.s, "GET", "/readyz")[0] == 200)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.s.http = self.first
        self.cgi.stop()


def go(s, jar=None):
    """There: -> (code, state, what the browser keeps)."""
    status, _, r = ask(s, "GET", "/api/v1/login/oidc")
    assert status == 302, status
    keep = r.getheader("Set-Cookie")
    assert "HttpOnly" in keep and "SameSite=Lax" in keep, keep
    return (*s.provider.approve(r.getheader("Location")), jar or cookies(r))


def back(s, code, state, jar, more=""):
    return ask(s, "GET", f"/api/v1/login/oidc/callback?code={code}&state={state}{more}", **jar)


def whole(s):
    return back(s, *go(s))


def refused(s, word, **bent):
    for k, v in bent.items():
        setattr(s.provider, k, v)
    try:
        status, answer, r = whole(s)
    finally:
        for k in bent:
            setattr(s.provider, k, "RS256" if k == "alg" else None)
    assert status == 401 and word in answer["error"]["message"], (word, status, answer)
    assert r.getheader("Set-Cookie") is None


