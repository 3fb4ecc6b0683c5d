"""A push service and browsers of its own, on loopback: takes what RFC 8030 says, opens it with the browser's
private key (RFC 8291, 8188) and verifies who signed (RFC 8292). The curve, the hash of GCM and the key derivation are
written out here, so that they share nothing with what they check; AES itself is the openssl program's."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = ((3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(k, point):
    sum_ = None
    while k:
        if k & 1:
            sum_ = add(sum_, point)
        point, k = add(point, point), k >> 1
    return sum_


def raw(point):
    return b"\4" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")


def point_of(data):
    x, y = int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big")
    assert len(data) == 65 and data[0] == 4 and (y * y - x * x * x + 3 * x - B) % P == 0, data
    return x, y


def derive(salt, secret, info, n):
    key = hmac.new(salt, secret, hashlib.sha256).digest()
    return hmac.new(key, info + b"\1", hashlib.sha256).digest()[:n]


def aes(key, mode, data, iv=None):
    more = ["-iv", iv.hex()] if iv else ["-nopad"]
    return subprocess.run(["openssl", "enc", f"-aes-128-{mode}", "-K", key.hex(), *more], input=data, check=True,
                          capture_output=True).stdout


def open_gcm(key, nonce, sealed):
    """AES-128-GCM without further data; an altered text does not open."""
    text, tag = sealed[:-16], sealed[-16:]
    h, y = int.from_bytes(aes(key, "ecb", bytes(16)), "big"), 0
    blocks = text + bytes(-len(text) % 16) + bytes(8) + (8 * len(text)).to_bytes(8, "big")
    for at in range(0, len(blocks), 16):
        y ^= int.from_bytes(blocks[at:at + 16], "big")
        z, v = 0, h
        for bit in range(127, -1, -1):
            z ^= v if y >> bit & 1 else 0
            v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
        y = z
    plain = aes(key, "ctr", bytes(16) + text, nonce + b"\0\0\0\1")  # block 1 masks the tag
    assert y ^ int.from_bytes(plain[:16], "big") == int.from_bytes(tag, "big"), "the tag is of another text"
    return plain[16:]


class Browser:
    """One subscription: its keys, and its address at a service."""

    def __init__(self, service, name):
        self.service, self.name = service, name
        self.private, self.auth = int.from_bytes(os.urandom(32), "big") % (N - 1) + 1, os.urandom(16)
        self.public = raw(times(self.private, G))
        service.browsers[f"/{name}"] = self

    def subscription(self, **more):
        return {"endpoint": f"http://127.0.0.1:{self.service.port}/{self.name}", "p256dh": b64(self.public),
                "auth": b64(self.auth), "label": f"Browser {self.name}", **more}

    def open(self, body):
        salt, size, n = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, sealed = body[21:21 + n], body[21 + n:]
        assert n == 65 and len(sealed) <= size and len(body) <= 4096, (n, size, len(body))
        shared = times(self.private, point_of(theirs))[0].to_bytes(32, "big")
        secret = derive(self.auth, shared, b"WebPush: info\0" + self.public + theirs, 32)
        plain = open_gcm(derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16),
                         derive(salt, secret, b"Content-Encoding: nonce\0", 12), sealed)
        text = plain.rstrip(b"\0")
        assert text[-1:] == b"\2", plain
        return json.loads(text[:-1])


def verify(header, origin):
    """-> the claims, and the key that signed them."""
    scheme, _, rest = header.partition(" ")
    parts = dict(p.strip().split("=", 1) for p in rest.split(","))
    assert scheme == "vapid" and set(parts) == {"t", "k"}, header
    head, claims, signature = parts["t"].split(".")
    assert json.loads(unb64(head)) == {"typ": "JWT", "alg": "ES256"}, head
    both = unb64(signature)
    r, s, z = (int.from_bytes(x, "big") for x in
               (both[:32], both[32:], hashlib.sha256(f"{head}.{claims}".encode()).digest()))
    assert len(both) == 64 and 0 < r < N and 0 < s < N
    w = pow(s, -1, N)
    at = add(times(z * w % N, G), times(r * w % N, point_of(unb64(parts["k"]))))
    assert at and at[0] % N == r, "the signature is of another text or key"
    told = json.loads(unb64(claims))
    assert told["aud"] == origin and time.time() < told["exp"] <= time.time() + 86400, told
    return told, parts["k"]


class PushService:
    """`got`: {browser, message, headers, claims, key, status} of each request. `plan[name]`: statuses of the next ones to
    that browser, then 201. `wrong`: what did not open, or was not signed."""

    def __init__(self):
        self.got, self.plan, self.browsers, self.wrong = [], {}, {}, []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = 400
                try:
                    status = service.take(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                except Exception as e:
                    service.wrong.append(repr(e))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.send_header("Location", f"http://127.0.0.1:{service.port}/m")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, headers, body):
        browser = self.browsers[path]
        assert headers["content-encoding"] == "aes128gcm" and int(headers["ttl"]) > 0, headers
        assert headers["urgency"] in ("low", "normal", "high") and len(headers["topic"]) <= 32, headers
        claims, key = verify(headers["authorization"], f"http://127.0.0.1:{self.port}")
        plan = self.plan.get(browser.name) or []
        status = plan.pop(0) if plan else 201
        self.got.append({"browser": browser.name, "message": browser.open(body), "headers": headers, "claims": claims,
                         "key": key, "status": status})
        return status

    def taken(self, name):
        return [g for g in list(self.got) if g["browser"] == name and g["status"] < 300]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
