"""A small OpenID provider on loopback: discovery, keys, authorization code with PKCE, tokens. It can be
told to answer wrongly in one way. Keys and signatures by the openssl program."""
import base64
import hashlib
import http.server
import json
import subprocess
import threading
import time
import urllib.parse


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, check=True, capture_output=True).stdout


def raw_ecdsa(der):
    """r and s of a DER signature, 32 bytes each."""
    at, out = 2, b""
    for _ in range(2):
        n = der[at + 1]
        out += der[at + 2:at + 2 + n].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + n
    return out


class Key:
    def __init__(self, folder, name, kind):
        self.path, self.name, self.kind = folder / f"{name}.pem", name, kind
        if kind == "RS256":
            openssl("genrsa", "-out", str(self.path), "2048")
        else:
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(self.path))

    def public(self):
        if self.kind == "RS256":
            n = openssl("rsa", "-in", str(self.path), "-modulus", "-noout").decode().split("=")[1].strip()
            return {"kty": "RSA", "kid": self.name, "use": "sig", "n": b64(bytes.fromhex(n)), "e": "AQAB"}
        point = openssl("ec", "-in", str(self.path), "-pubout", "-outform", "DER")[-64:]
        return {"kty": "EC", "crv": "P-256", "kid": self.name, "use": "sig", "x": b64(point[:32]), "y": b64(point[32:])}

    def sign(self, text):
        der = openssl("dgst", "-sha256", "-sign", str(self.path), data=text)
        return der if self.kind == "RS256" else raw_ecdsa(der)


class Provider:
    """`bend` changes what the next token says: a function of (head, claims); `sign_with` another key."""

    def __init__(self, folder, client, secret):
        self.keys = {"RS256": Key(folder, "rsa-1", "RS256"), "ES256": Key(folder, "ec-1", "ES256")}
        self.stranger = Key(folder, "rsa-2", "RS256")
        self.client, self.secret, self.codes, self.alg = client, secret, {}, "RS256"
        self.claims = {"sub": "u-1", "preferred_username": "olga", "name": "Olga O.", "email": "olga@example.com", "groups": []}
        self.bend = self.sign_with = self.signature = None
        self.asked, self.away, self.issuer_said, self.hold, self.waiting = [], False, None, None, False  # hold: an Event it waits for
        # UserInfo, where it is offered: `info` what it says (None: as the token's claims), `info_status`, and whether signed.
        self.offers_info, self.info, self.info_status, self.info_signed, self.info_bend = False, None, 200, False, None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, value):
                self.send_text("application/json", json.dumps(value), status)

            def send_text(self, kind, value, status=200):
                text = value.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                outer.asked.append(self.path)
                if outer.hold:
                    outer.waiting = True
                    outer.hold.wait()
                    outer.waiting = False
                if outer.away:
                    return self.answer(503, {})
                if self.path == "/realm/.well-known/openid-configuration":
                    more = {"userinfo_endpoint": outer.issuer + "/info"} if outer.offers_info else {}
                    return self.answer(200, {"issuer": outer.issuer_said or outer.issuer, **more,
                                             "authorization_endpoint": outer.issuer + "/auth",
                                             "token_endpoint": outer.issuer + "/token", "jwks_uri": outer.issuer + "/keys"})
                if self.path == "/realm/info":
                    if self.headers.get("Authorization") != "Bearer access-x":
                        return self.answer(401, {"error": "invalid_token"})
                    if outer.info_status != 200:
                        return self.answer(outer.info_status, {})
                    said = outer.claims if outer.info is None else outer.info
                    if not outer.info_signed:
                        return self.answer(200, said)
                    return self.send_text("application/jwt", outer.signed({"iss": outer.issuer, "aud": outer.client, **said}, outer.info_bend))
                if self.path == "/realm/keys":
                    return self.answer(200, {"keys": [k.public() for k in outer.keys.values()]})
                return self.answer(404, {})

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
                basic = base64.b64decode(self.headers.get("Authorization", " ").split(" ")[1]).decode()
                status, value = outer.token(form, basic)
                self.answer(status, value)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def approve(self, url):
        """What the person's browser does at the provider: -> (code, state)."""
        at = urllib.parse.urlsplit(url)
        args = dict(urllib.parse.parse_qsl(at.query, strict_parsing=True))
        assert f"{at.scheme}://{at.netloc}{at.path}" == self.issuer + "/auth", url
        assert args["response_type"] == "code" and args["client_id"] == self.client, args
        assert args["code_challenge_method"] == "S256" and "openid" in args["scope"].split(), args
        assert len(args["state"]) >= 40 and len(args["nonce"]) >= 40, args
        code = f"code-{len(self.codes)}"
        self.codes[code] = args
        return code, args["state"]

    def token(self, form, basic):
        args = self.codes.pop(form["code"], None)
        secret = ":".join(urllib.parse.unquote(p) for p in basic.split(":"))
        if args is None or secret != f"{self.client}:{self.secret}" or form["redirect_uri"] != args["redirect_uri"] or \
                b64(hashlib.sha256(form["code_verifier"].encode()).digest()) != args["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.client, "exp": now + 300, "iat": now, "nonce": args["nonce"], **self.claims}
        return 200, {"id_token": self.signed(claims, self.bend), "access_token": "access-x", "token_type": "Bearer", "expires_in": 300}

    def signed(self, claims, bend):
        key = self.sign_with or self.keys[self.alg]
        head = {"alg": self.alg, "kid": key.name, "typ": "JWT"}
        if bend:
            bend(head, claims)
        text = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
        signature = self.signature(text.encode()) if self.signature else key.sign(text.encode())
        return f"{text}.{b64(signature)}"
