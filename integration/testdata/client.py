"""A client of the ingest service, written from its specification alone, with Python's standard
library only. It makes the service give each of its status codes and prints, as one JSON object,
the answers it got; the test beside it judges them.

    client.py BASE_URL API_KEY WEBHOOK_SECRET
"""

import datetime
import hashlib
import hmac
import json
import sys
import time
import urllib.error
import urllib.request
import uuid

BASE, API_KEY, SECRET = sys.argv[1:4]

# The samples of the specification's table, one event of each type.
DATA = {
    "audit": {"actor": "jo", "action": "login", "resource": "session", "method": "POST", "path": "/login",
              "statusCode": 200, "duration": 12.5, "ip": "10.0.0.1", "userAgent": "curl/8", "metadata": {"k": [1, 2]}},
    "log": {"level": "info", "message": "snow \u2603 and \U0001d11e", "module": "shop", "fields": {"n": 1}},
    "deploy": {"service": "shop", "version": "1.4.2", "environment": "prod", "status": "done", "commit": "abc"},
    "repository": {"provider": "git", "repo": "shop", "branch": "main", "commit": "abc", "author": "jo"},
    "config": {"path": "/etc/shop", "diff": "--- a\n+++ b\n", "actor": "jo"},
    "cost": {"provider": "aws", "service": "s3", "region": "eu-west-1", "amount": 12.3, "currency": "EUR", "period": "2026-11"},
    "performance": {"service": "shop", "metric": "latency", "value": 3.5, "unit": "ms"},
    "trace": {"traceId": "t1", "spanId": "s1", "serviceName": "shop", "name": "GET /", "durationMs": 3.5},
    "error": {"name": "ValueError", "message": "no", "release": "1.4.2", "environment": "prod"},
    "feature_flag": {"key": "new-cart", "enabled": True, "rollout": 0.5, "actor": "jo"},
    "webhook": {"destination": "chat", "url": "https://example.com/h", "statusCode": 204, "attempt": 1},
    "tenant": {"projectId": "p1", "plan": "free", "ingestLimitPerSecond": 10},
    "video": {"jobId": "j1", "targetUrl": "https://example.com", "status": "done", "artifactUrl": "https://example.com/v"},
}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def event(kind, data):
    return {"type": kind, "ts": now(), "data": data}


def signature(body):
    return hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def send(body, key=API_KEY, sign=signature, content_type="application/json", more=None):
    headers = {"Content-Type": content_type, **(more or {})}
    if key is not None:
        headers["Authorization"] = "Bearer " + key
    if sign is not None:
        headers["X-Service-Signature"] = sign(body)
    request = urllib.request.Request(BASE + "/api/ingest", data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return answer(response.status, response.headers, response.read())
    except urllib.error.HTTPError as refusal:
        return answer(refusal.code, refusal.headers, refusal.read())


def answer(status, headers, body):
    return {"status": status, "headers": {name.lower(): value for name, value in headers.items()}, "body": body.decode()}


def batch(*events):
    return json.dumps({"events": list(events)}, ensure_ascii=False).encode()


def until_limited():
    """Sends small batches until one is refused by the limit, then goes on as told."""
    body = batch(event("log", {"message": "many"}))
    for _ in range(2000):
        got = send(body)
        if got["status"] != 200:
            time.sleep(float(got["headers"].get("retry-after", "1")))
            return got, send(body)
    return got, got


hello = batch(event("log", {"message": "hello"}))
mixed = batch(event("audit", {"action": "login"}), event("log", {"message": "fine"}), event("sausage", {}))
repeat = {"X-Service-Idempotency-Key": str(uuid.uuid4())}
out = {
    "all_types": send(batch(*(event(kind, data) for kind, data in DATA.items()))),
    "upper_case_signature": send(hello, sign=lambda body: signature(body).upper()),
    "charset": send(hello, content_type="application/json; charset=utf-8"),
    "partly_valid": send(mixed),
    "no_events": send(b'{"events":[]}'),
    "first": send(hello, more=repeat),
    "again": send(hello, more=repeat),
    "again_with_another_body": send(mixed, more=repeat),
    "not_json": send(b'{"events":['),
    "events_missing": send(b'{"event":[]}'),
    "not_a_uuid": send(hello, more={"X-Service-Idempotency-Key": "yesterday"}),
    "wrong_content_type": send(hello, content_type="text/plain"),
    "no_bearer": send(hello, key=None),
    "wrong_bearer": send(hello, key="weir_nonsense"),
    "no_signature": send(hello, sign=None),
    "wrong_signature": send(hello, sign=lambda body: signature(body + b" ")),
    "prefixed_signature": send(hello, sign=lambda body: "sha256=" + signature(body)),
    "too_large": send(batch(event("log", {"message": "x" * (5 * 1024 * 1024)}))),
}
out["limited"], out["after_the_wait"] = until_limited()
print(json.dumps(out))
