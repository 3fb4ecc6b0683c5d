"""A server that answers as Vault and OpenBao do, for what Sirdar asks of one; Debian has neither. Written from their API's
documents (auth/approle/login, auth/kubernetes/login, auth/token/lookup-self and renew-self, KV version 2): tokens with a time
and a longest life, renewal, namespaces, 403 with {"errors": ["permission denied"]}, 404 with {"errors": []}, 503 when sealed.
It is NOT the real thing: test_vault_real.py asks a real one where it is installed. It can be told to be away, slow, to
redirect, and to answer too much."""
import http.server
import json
import secrets
import ssl
import threading
import time


class Vault:
    def __init__(self, role_id="role-1", secret_id="id-of-the-secret", namespace=None, mount="approle", pem=None):
        self.role_id, self.secret_id, self.namespace, self.mount = role_id, secret_id, namespace, mount
        self.kv, self.denied = {}, set()           # kv: path after v1/ -> members
        self.jwt = self.fixed_token = None         # kubernetes: what it takes; a token that is there from the start
        self.tokens = {}                           # token -> (ends, longest end), monotonic
        self.ttl, self.max_ttl, self.lease = 3600, 7200, 0
        self.status = self.redirect = self.hold = self.flood = None
        self.asked = []                            # (method, path)
        self.heads = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, value, headers=()):
                text = json.dumps(value).encode() if not isinstance(value, bytes) else value
                self.send_response(status)
                for name, to in headers:
                    self.send_header(name, to)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def take(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append((self.command, self.path))
                outer.heads.append(dict(self.headers))
                if outer.hold:
                    outer.hold.wait()
                if outer.redirect:
                    return self.answer(307, {}, [("Location", outer.redirect + self.path)])
                if outer.status:
                    return self.answer(outer.status, {"errors": ["Vault is sealed"]})
                if outer.flood:
                    return self.answer(200, b'{"data": {"data": {"password": "' + b"x" * outer.flood + b'"}}}')
                self.answer(*outer.reply(self.command, self.path, self.headers, body))

            do_GET = do_POST = do_PUT = take

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # whoever asked has hung up
        if pem:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(pem)
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if pem else 'http'}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token_new(self, token=None):
        now = time.monotonic()
        token = token or "hvs." + secrets.token_urlsafe(24)
        self.tokens[token] = (now + self.ttl, now + self.max_ttl)
        return token

    def times(self, path):
        return sum(p == path for _, p in self.asked)

    def good(self, token):
        return token in self.tokens and time.monotonic() < self.tokens[token][0]

    def auth(self, token):
        left = max(0, int(self.tokens[token][0] - time.monotonic() + 0.999))
        return {"client_token": token, "lease_duration": left, "renewable": True, "policies": ["default"]}

    def reply(self, method, path, headers, body):
        denied = 403, {"errors": ["permission denied"]}
        if (headers.get("X-Vault-Namespace") or None) != self.namespace:
            return denied
        said = json.loads(body) if body else {}
        if path == f"/v1/auth/{self.mount}/login" and method in ("POST", "PUT"):
            if (said.get("role_id"), said.get("secret_id")) != (self.role_id, self.secret_id):
                return 400, {"errors": ["invalid role or secret ID"]}
            return 200, {"auth": self.auth(self.token_new()), "data": None, "lease_duration": 0}
        if path == "/v1/auth/kubernetes/login" and method in ("POST", "PUT"):
            if (said.get("role"), said.get("jwt")) != (self.role_id, self.jwt):
                return denied
            return 200, {"auth": self.auth(self.token_new()), "data": None, "lease_duration": 0}
        token = headers.get("X-Vault-Token")
        if not self.good(token):
            return denied
        if path == "/v1/auth/token/lookup-self":
            return 200, {"data": {"ttl": self.auth(token)["lease_duration"], "renewable": True}}
        if path == "/v1/auth/token/renew-self":
            ends, last = self.tokens[token]
            self.tokens[token] = (min(time.monotonic() + self.ttl, last), last)
            return 200, {"auth": self.auth(token)}
        name = path.removeprefix("/v1/")
        if name in self.denied:
            return denied
        if name not in self.kv:
            return 404, {"errors": []}
        return 200, {"request_id": "x", "lease_id": "", "renewable": False, "lease_duration": self.lease, "auth": None,
                     "data": {"data": self.kv[name], "metadata": {"version": 1, "ratio": 0.5, "custom_metadata": None}}}
