"""Secrets and personal details for the sample session: invented, random, in the forms that real ones have.

They are drawn from a seeded generator, so that every run gives the same ones, and none is typed into a source file.
"""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
BASE32 = string.ascii_uppercase + "234567"
BASE64 = ALNUM + "+/"
KEY_LINES = 12

USER = "marisolquint"
HOST = "tamarack-7"
HOME = f"/home/{USER}"


def _draw(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def _url64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass(frozen=True)
class Planted:
    """Every value hidden in the session. `entries` lists them for planted.json."""

    aws_key_id: str
    aws_secret: str
    github_token: str
    remote_token: str
    slack_token: str
    openai_key: str
    stripe_key: str
    api_key: str
    jwt: str
    database_password: str
    private_key_lines: tuple[str, ...]
    user: str = USER
    host: str = HOST
    home: str = HOME
    mail_work: str = "marisol.quint@brackwater-hosting.net"
    mail_duty: str = "doors-oncall@palisade-rota.net"
    phone: str = "+44 20 7946 0823"
    address: str = "45.83.221.107"
    windows_path: str = r"C:\Users\marisol.q\source\rotaboard"

    @classmethod
    def from_seed(cls, seed: int) -> Planted:
        rng = random.Random(seed)
        header = _url64(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
        claims = {"sub": _draw(rng, string.digits, 10), "scope": "doors:read", "iat": 1776330000}
        payload = _url64(json.dumps(claims, separators=(",", ":")).encode())
        return cls(
            aws_key_id="AKIA" + _draw(rng, BASE32, 16),
            aws_secret=_draw(rng, BASE64, 40),
            github_token="ghp_" + _draw(rng, ALNUM, 36),
            remote_token="ghp_" + _draw(rng, ALNUM, 36),
            slack_token="-".join(
                ("xoxb", _draw(rng, "123456789", 12), _draw(rng, "123456789", 13), _draw(rng, ALNUM, 24))
            ),
            openai_key="sk-proj-" + _draw(rng, ALNUM, 74) + "T3BlbkFJ" + _draw(rng, ALNUM, 74),
            stripe_key="sk_live_" + _draw(rng, ALNUM, 24),
            api_key=_draw(rng, string.ascii_lowercase + string.digits, 32),
            jwt=f"{header}.{payload}.{_draw(rng, ALNUM + '-_', 43)}",
            database_password=_draw(rng, ALNUM, 18),
            private_key_lines=(
                "MIIE" + _draw(rng, BASE64, 60),
                *(_draw(rng, BASE64, 64) for _ in range(KEY_LINES - 2)),
                _draw(rng, BASE64, 38) + "==",
            ),
        )

    @property
    def database_url(self) -> str:
        return f"postgres://rota_app:{self.database_password}@{self.address}:5432/rotaboard"

    @property
    def private_key(self) -> str:
        body = "\n".join(self.private_key_lines)
        return f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"

    def entries(self) -> list[dict[str, str]]:
        """As {kind, value}: each value is a literal string that must not survive redaction."""
        pairs = [
            ("aws_access_key_id", self.aws_key_id),
            ("aws_secret_access_key", self.aws_secret),
            ("github_token", self.github_token),
            ("github_token_in_remote_url", self.remote_token),
            ("slack_bot_token", self.slack_token),
            ("openai_api_key", self.openai_key),
            ("stripe_secret_key", self.stripe_key),
            ("generic_api_key", self.api_key),
            ("jwt", self.jwt),
            ("database_url", self.database_url),
            ("database_password", self.database_password),
            ("private_key_first_line", self.private_key_lines[0]),
            ("private_key_inner_line", self.private_key_lines[KEY_LINES // 2]),
            ("private_key_last_line", self.private_key_lines[-1]),
            ("user_name", self.user),
            ("host_name", self.host),
            ("home_path", self.home),
            ("mail_address", self.mail_work),
            ("mail_address", self.mail_duty),
            ("phone_number", self.phone),
            ("ip_address", self.address),
            ("windows_path", self.windows_path),
        ]
        return [{"kind": kind, "value": value} for kind, value in pairs]
