"""Who the submission's code runs as."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass


class GraderError(Exception):
    """The grader cannot do its work, through no fault of the submission: no reward is written. Says what to mend."""


@dataclass(frozen=True)
class Account:
    """An unprivileged user. `switch`: this process is root and becomes it; else it is that user already."""

    uid: int
    gid: int
    name: str
    switch: bool


def resolve_account(user: str | None) -> Account:
    """Look up a name or numeric uid. None, or the own user, where this process is not root: the user it is.

    Raises:
        GraderError: unknown, root itself, or not reachable because this process is neither root nor that user.
    """
    if os.geteuid() != 0:
        own = _entry(str(os.getuid()))
        if user is not None and user not in (own.name, str(own.uid)):
            raise GraderError(f"runs as uid {own.uid} and cannot become {user!r}; start it as root")
        return Account(own.uid, own.gid, own.name, switch=False)
    if user is None:
        raise GraderError("runs as root and was given no user for the submission's code; name one")
    account = _entry(user)
    if account.uid == 0:
        raise GraderError("the submission's code may not run as root; name another user")
    return account


def _entry(user: str) -> Account:
    try:
        found = pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
    except KeyError:
        if not user.isdigit():
            raise GraderError(f"there is no user {user!r} on this machine") from None
        return Account(int(user), int(user), "agent", switch=True)
    return Account(found.pw_uid, found.pw_gid, found.pw_name, switch=True)
