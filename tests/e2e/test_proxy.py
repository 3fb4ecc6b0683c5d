#!/usr/bin/env python3
"""The HTTP face behind a proxy that ends TLS: whose request it is, by which scheme, for which host; and
that nobody but a trusted proxy is believed about it. TAP."""
import http.client
import http.server
import json
import os
import socketserver
import ssl
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, Skip, main, test  # noqa: E402

WORD, OTHER = "a long enough word", "another long word"
HOST = "sirdar.example.org:8443"


class TlsProxy(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """It ends TLS and asks the cgi. `says(client address)`: the headers it adds; what the client sent
    under the same names is replaced or, with `appends`, gone on from, as such proxies do."""
    daemon_threads = True

    def __init__(self, certificate, port, says, source="127.0.0.1", appends=()):
        super().__init__(("127.0.0.1", 0), Forward)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.to, self.says, self.source, self.appends = port, says, source, appends
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


class Forward(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        p = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        head = {k: v for k, v in self.headers.items() if k not in ("Connection", "Host")}
        said = p.says(self.client_address[0])
        for name, value in said.items():
            was = head.pop(name, None)
            head[name] = f"{was}, {value}" if was and name in p.appends else value
        link = http.client.HTTPConnection("127.0.0.1", p.to, timeout=60, source_address=(p.source, 0))
        link.request(self.command, self.path, body or None, {"Host": self.headers["Host"], **head})
        answer = link.getresponse()
        text = answer.read()
        link.close()
        self.send_response_only(answer.status)
        for k, v in answer.getheaders():
            if k not in ("Connection", "Transfer-Encoding", "Content-Length"):
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = forward

    def log_message(self, *_):
        pass


def x_forwarded(address):
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https", "X-Forwarded-Host": HOST}


def rfc_7239(address):
    return {"Forwarded": f'for="{address}:4711";proto=https;host="{HOST}"'}


def certificate(s):
    crt, key = s.dir / "proxy.pem", s.dir / "proxy.key"
    if not crt.exists():
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                               "-keyout", key, "-out", crt, "-subj", "/CN=localhost", "-days", "2"], capture_output=True)
        if made.returncode != 0:
            raise Skip("no openssl to make a certificate")
    return crt, key


class Browser:
    """Somebody who asks from `at`: through a proxy, or straight at the cgi."""

    def __init__(self, s, proxy=None, at="127.0.0.1", **head):
        self.s, self.proxy, self.at = s, proxy, at
        self.head = {k.replace("_", "-"): v for k, v in head.items()}

    def ask(self, method, path, body=None, **head):
        if self.proxy:
            context = ssl.create_default_context(cafile=str(certificate(self.s)[0]))
            context.check_hostname = False
            link = http.client.HTTPSConnection("127.0.0.1", self.proxy.server_address[1], timeout=60, context=context,
                                               source_address=(self.at, 0))
        else:
            link = http.client.HTTPConnection("127.0.0.1", self.s.http, timeout=60, source_address=(self.at, 0))
        link.request(method, path, None if body is None else json.dumps(body),
                     {"Content-Type": "application/json", **({"Host": HOST} if self.proxy else {}), **self.head,
                      **{k.replace("_", "-"): v for k, v in head.items()}})
        answer = link.getresponse()
        text, self.got = answer.read(), answer.headers
        link.close()
        return answer.status, json.loads(text) if text and "json" in (answer.getheader("Content-Type") or "") else text

    def login(self, user, word=WORD, **head):
        status, answer = self.ask("POST", "/api/v1/login", {"user": user, "password": word}, **head)
        if status == 200:
            self.head["Cookie"] = self.got["Set-Cookie"].split(";")[0]
            self.head["X-CSRF-Token"] = answer["csrf"]
        return status


def user(s, name):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": WORD, "role": "admin", "projects": ["*"]})
    assert status == 200, answer


def set_up(s, **sets):
    """The same cgi with other settings."""
    s.cgi.stop()
    s.cgi.argv = [*s.plain, *(w for k, v in sets.items() for w in ("--set", f"{k}={v}"))]
    s.start_cgi()


def seen_from(s, name):
    """Where the sessions of this person come from."""
    return {x["address"] for x in s.get(f"/api/v1/sessions?user={name}")["sessions"]}


@test
def behind_a_tls_proxy_every_change_works_and_the_cookie_is_secure(s):
    for header, says in (("x-forwarded", x_forwarded), ("forwarded", rfc_7239)):
        set_up(s, trusted_proxies="127.0.0.1", trusted_proxies_header=header)
        name = f"ann-{header}"
        user(s, name)
        b = Browser(s, TlsProxy(certificate(s), s.http, says), at="127.0.3.7", Origin=f"https://{HOST}")
        assert b.login(name) == 200
        cookie = b.got["Set-Cookie"]
        assert cookie.startswith("__Host-sirdar=") and "Secure" in cookie, cookie
        assert b.got["Strict-Transport-Security"] == "max-age=31536000", b.got
        assert b.ask("GET", "/api/v1/session")[1]["user"] == name
        for method, path, body, want, *more in (
                ("POST", "/api/v1/commands", {"kind": "pool-set", "args": {"pool": "p", "size": 3}}, 202),
                ("POST", "/api/v1/users", {"user": "new", "role": "viewer", "password": WORD}, 200),
                ("PUT", "/api/v1/preferences", {"preferences": {}}, 200, {"If_Match": '"0"'}),
                ("POST", "/api/v1/tokens", {"name": f"t-{header}"}, 201),
                ("DELETE", f"/api/v1/tokens/t-{header}", None, 200),
                ("POST", "/api/v1/password", {"old": WORD, "new": OTHER}, 200),
                ("POST", "/api/v1/logout", None, 200)):
            status, answer = b.ask(method, path, body, **(more[0] if more else {}))
            assert status == want, (header, method, path, status, answer)
        assert "Secure" in b.got["Set-Cookie"] and "__Host-sirdar=;" in b.got["Set-Cookie"], b.got


@test
def origin_is_judged_by_the_scheme_and_host_of_outside(s):
    set_up(s, trusted_proxies="127.0.0.1")
    user(s, "ben")
    proxy = TlsProxy(certificate(s), s.http, x_forwarded)
    b = Browser(s, proxy)
    assert b.login("ben") == 200
    body = {"kind": "pool-set", "args": {"pool": "p", "size": 3}}
    for origin, want in ((f"https://{HOST}", 202), (f"http://{HOST}", 403), ("https://evil.example.org", 403),
                         (f"http://127.0.0.1:{s.http}", 403), ("null", 403)):
        status, answer = b.ask("POST", "/api/v1/commands", body, Origin=origin)
        assert status == want, (origin, status, answer)
    assert Browser(s, proxy, Origin="https://evil.example.org").login("ben") == 403


@test
def sessions_and_tries_have_the_address_of_the_person_not_of_the_proxy(s):
    set_up(s, trusted_proxies="127.0.0.1")
    user(s, "cora")
    proxy = TlsProxy(certificate(s), s.http, x_forwarded)
    there, here = Browser(s, proxy, at="127.0.21.5"), Browser(s, proxy, at="127.0.22.5")
    said = [there.login("cora", "wrong wrong wrong") for _ in range(6)]
    assert said == [401] * 5 + [429], said
    assert here.login("cora") == 200, "one person's wrong guesses hold everybody behind the proxy"
    assert seen_from(s, "cora") == {"127.0.22.5"}, seen_from(s, "cora")
    assert "address=127.0.21.5" in s.cgi.text()


@test
def the_rightmost_hop_that_is_no_trusted_proxy_is_the_client(s):
    set_up(s, trusted_proxies="127.0.0.0/16,2001:db8::/32")
    user(s, "dan")
    for said, want in (("198.51.100.7, 192.0.2.1", "192.0.2.1"), ("198.51.100.7, 192.0.2.1, 127.0.0.9", "192.0.2.1"),
                       ("198.51.100.7, 192.0.2.1:55", "192.0.2.1"), ("[2001:db9::7]:55, 2001:db8::1", "2001:db9::7"),
                       ("::ffff:192.0.2.3", "192.0.2.3"), ("127.0.0.8, 127.0.0.9", "127.0.0.8"),
                       ("198.51.100.7, garbage", "127.0.0.1"), ("198.51.100.7,", "127.0.0.1"), ("", "127.0.0.1")):
        b = Browser(s, X_Forwarded_For=said)
        assert b.login("dan") == 200 and seen_from(s, "dan") == {want}, (said, want, seen_from(s, "dan"))
        assert b.ask("POST", "/api/v1/logout")[0] == 200
    set_up(s, trusted_proxies="127.0.0.0/16,2001:db8::/32", trusted_proxies_header="forwarded")
    for said, want in (('for=198.51.100.7, For="192.0.2.1:80";by=10.0.0.1', "192.0.2.1"),
                       ('for="[2001:db9::7]:55";proto=http,for="[2001:db8::1]"', "2001:db9::7"),
                       ("for=192.0.2.1, for=unknown", "127.0.0.1"), ("for=192.0.2.1, for=_x", "127.0.0.1"),
                       ('for=6.6.6.6, for=", for="[2001:db8::1]:80"', "127.0.0.1"), ('for="x, for=192.0.2.1', "127.0.0.1"),
                       ('host="a, b";for=192.0.2.9', "192.0.2.9")):
        b = Browser(s, Forwarded=said)
        assert b.login("dan") == 200 and seen_from(s, "dan") == {want}, (said, want, seen_from(s, "dan"))
        assert b.ask("POST", "/api/v1/logout")[0] == 200


@test
def a_chain_of_trusted_proxies_tells_the_scheme_of_its_outermost(s):
    set_up(s, trusted_proxies="127.0.0.0/16", trusted_proxies_header="forwarded")
    user(s, "eda")
    for said, secure in (("for=192.0.2.1;proto=https, for=127.0.0.9;proto=http", True),
                         ("for=192.0.2.1;proto=http, for=127.0.0.9;proto=https", False),
                         ("for=1.2.3.4;proto=https, for=192.0.2.1;proto=http", False)):
        b = Browser(s, Forwarded=said)
        assert b.login("eda") == 200 and ("Secure" in b.got["Set-Cookie"]) == secure, (said, b.got["Set-Cookie"])
    set_up(s, trusted_proxies="127.0.0.0/16")
    for address, said, secure in (("192.0.2.1, 127.0.0.9", "https, http", True), ("192.0.2.1, 127.0.0.9", "https", True),
                                  ("192.0.2.1", "https, http", False), ("192.0.2.1", "ftp", False)):
        b = Browser(s, X_Forwarded_For=address, X_Forwarded_Proto=said)
        assert b.login("eda") == 200 and ("Secure" in b.got["Set-Cookie"]) == secure, (said, b.got["Set-Cookie"])


@test
def a_forged_header_of_an_untrusted_peer_counts_for_nothing(s):
    for sets in ({}, {"trusted_proxies": "127.0.0.1,192.0.2.0/24"}, {"trusted_proxies": "127.0.0.1", "trusted_proxies_header": "forwarded"}):
        set_up(s, **sets)
        name = f"finn{len(sets)}{''.join(sets.values())[-1:]}"
        user(s, name)
        forged = {**x_forwarded("192.0.2.77"), **rfc_7239("192.0.2.78")}
        b = Browser(s, at="127.0.4.9", **forged)
        assert b.login(name) == 200
        assert "Secure" not in b.got["Set-Cookie"] and "Strict-Transport-Security" not in b.got, b.got
        assert seen_from(s, name) == {"127.0.4.9"}, seen_from(s, name)
        body = {"kind": "pool-set", "args": {"pool": "p", "size": 3}}
        status, answer = b.ask("POST", "/api/v1/commands", body, Origin=f"https://{HOST}")
        assert status == 403 and "trusted_proxies" in str(answer), (status, answer)
        assert b.ask("POST", "/api/v1/commands", body, Origin=f"http://127.0.0.1:{s.http}")[0] == 202
        said = [Browser(s, at="127.0.4.9", X_Forwarded_For=f"192.0.2.{n}", Forwarded=f"for=192.0.2.{n}").login(name, "wrong wrong")
                for n in range(6)]
        assert said == [401] * 5 + [429], said


@test
def of_two_headers_only_the_one_that_the_proxy_writes_is_read(s):
    set_up(s, trusted_proxies="127.0.0.1")
    user(s, "gil")
    proxy = TlsProxy(certificate(s), s.http, x_forwarded)
    assert Browser(s, proxy, at="127.0.3.8", Forwarded="for=6.6.6.6;proto=http;host=evil").login("gil", Origin=f"https://{HOST}") == 200
    assert seen_from(s, "gil") == {"127.0.3.8"}
    proxy = TlsProxy(certificate(s), s.http, x_forwarded, appends=("X-Forwarded-For",))
    assert Browser(s, proxy, at="127.0.3.9", X_Forwarded_For="6.6.6.6").login("gil") == 200
    assert seen_from(s, "gil") == {"127.0.3.8", "127.0.3.9"}


@test
def hsts_has_the_age_of_the_setting_or_is_not_sent(s):
    for age, want in (("600", "max-age=600"), ("0", None)):
        set_up(s, trusted_proxies="127.0.0.1", hsts_max_age_s=age)
        b = Browser(s, TlsProxy(certificate(s), s.http, x_forwarded))
        assert b.ask("GET", "/healthz")[0] == 200 and b.got["Strict-Transport-Security"] == want, b.got
        b = Browser(s)
        assert b.ask("GET", "/healthz")[0] == 200 and b.got["Strict-Transport-Security"] is None, b.got


@test
def behind_a_proxy_all_connections_may_come_from_its_address(s):
    set_up(s, trusted_proxies="127.0.0.1", connections_per_address_max=3)
    open_ = [http.client.HTTPConnection("127.0.0.1", s.http, timeout=60) for _ in range(12)]
    for c in open_:
        c.request("GET", "/healthz")
        answer = c.getresponse()
        assert answer.status == 200 and answer.read()
    for c in open_:
        c.close()


@test
def a_proxy_that_is_none_does_not_let_it_start(s):
    for wrong in ("trusted_proxies=localhost", "trusted_proxies=10.0.0.0/33", "trusted_proxies=10.0.0.0/", "trusted_proxies=10.0.0.1/8",
                  "trusted_proxies=::/129", "trusted_proxies_header=x-real-ip"):
        done = s.run([*s.plain, "--set", wrong])
        assert done.returncode == 78 and wrong.split("=")[0] in done.stderr, (wrong, done)


def site():
    s = Site("proxy")
    s.plain = list(s.cgi.argv)
    return s.start().believe()


if __name__ == "__main__":
    sys.exit(main(site))
