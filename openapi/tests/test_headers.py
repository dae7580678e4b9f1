"""Extra headers: what can be sent is taken, what cannot is refused in one line that shows no secret."""

from __future__ import annotations

import pytest

from openapi.headers import Header, HeaderError, extra

ENVIRONMENT = {"KEY": "s3cret value", "EMPTY": "", "BROKEN": "s3cret\n"}


def test_headers_come_in_order_and_those_of_the_environment_are_secret() -> None:
    assert (Header("X-Tenant", "blue: 1"), Header("api-key", "s3cret value", secret=True)) == extra(
        ["X-Tenant:  blue: 1 "], ["api-key=KEY"], ENVIRONMENT
    )


@pytest.mark.parametrize(
    ("told", "kept", "words"),
    [
        (["X-Tenant"], [], "write 'NAME: VALUE'"),
        ([": blue"], [], "'' is no name"),
        (["X Tenant: blue"], [], "'X Tenant' is no name"),
        (["X-Tenant:  "], [], "'' cannot be sent"),
        (["X-Tenant: blu\u00e9"], [], "cannot be sent"),
        (["X-Tenant: a\r\nX-Other: b"], [], "cannot be sent"),
        (["AUTHORIZATION: Bearer x"], [], "--api-key-env"),
        (["Content-Length: 3"], [], "follows from the request"),
        (["X-Tenant: a"], ["x-tenant=KEY"], "named twice"),
        ([], ["api-key"], "write NAME=VAR"),
        ([], ["api-key=NONE"], "no variable NONE"),
        ([], ["api-key=EMPTY"], "no variable EMPTY"),
        ([], ["api-key=BROKEN"], "its value cannot be sent"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_one_line(told: list[str], kept: list[str], words: str) -> None:
    with pytest.raises(HeaderError) as refused:
        extra(told, kept, ENVIRONMENT)
    line = str(refused.value)
    assert (True, 1, False) == (words in line, len(line.splitlines()), "s3cret" in line)
