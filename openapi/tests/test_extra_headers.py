"""Extra headers: what can be sent is taken in order; what cannot is refused in one line that shows no secret."""

from __future__ import annotations

import pytest

from openapi.extra_headers import Header, HeaderError, extra

KEPT = "s3cret-value"
ENVIRONMENT = {"KEY": f" {KEPT} ", "EMPTY": "", "BROKEN": f"{KEPT}\a", "UMLAUT": f"{KEPT}\u00fc"}


def test_headers_come_in_order_and_those_of_the_environment_are_secret() -> None:
    assert (Header("X-Tenant", "blue: 1"), Header("api-key", KEPT, secret=True)) == extra(
        ["X-Tenant:  blue: 1 "], ["api-key=KEY"], ENVIRONMENT
    )


REFUSED = {
    "no colon": (["X-Tenant acme"], [], "no colon"),
    "no equals sign": ([], [f"api-key: {KEPT}"], "no = in it"),
    "no name": ([": acme"], [], "letters, digits"),
    "a space in the name": (["X Tenant: acme"], [], "letters, digits"),
    "a space behind the name": (["X-Tenant : acme"], [], "letters, digits"),
    "no token for a name": ([], ["schl\u00fcssel=KEY"], "letters, digits"),
    "no value": (["X-Tenant: "], [], "no value"),
    "a control character": (["X-Tenant: a\r\nX-Other: b"], [], "printable ASCII"),
    "not ASCII": (["X-Tenant: \u00fcmlaut"], [], "printable ASCII"),
    "a secret control character": ([], ["api-key=BROKEN"], "printable ASCII"),
    "a secret beyond ASCII": ([], ["api-key=UMLAUT"], "printable ASCII"),
    "an unset variable": ([], ["api-key=NO_SUCH"], "--header-env api-key=NO_SUCH: the environment"),
    "an empty variable": ([], ["api-key=EMPTY"], "or it is empty"),
    "the secret itself": ([], [f"api-key={KEPT}"], "no name of an environment variable"),
    "a name twice": (["X-Tenant: a", "x-tenant: b"], [], "given twice"),
    "a name in both": (["API-KEY: a"], ["api-key=KEY"], "given twice"),
    "the key": (["Authorization: Bearer x"], [], "pass a key with --api-key-env"),
    **{
        f"{name} by {option}": (plain, secret, "follows from each request")
        for name in ("Host", "content-length", "Content-Type", "Transfer-Encoding", "Connection", "accept", "Expect")
        for option, plain, secret in (("text", [f"{name}: x"], []), ("variable", [], [f"{name}=KEY"]))
    },
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_cannot_be_sent_is_refused_in_one_line_without_the_secret(mistake: str) -> None:
    plain, secret, words = REFUSED[mistake]
    with pytest.raises(HeaderError) as refused:
        extra(plain, secret, ENVIRONMENT)
    line = str(refused.value)
    assert (True, 1, False) == (words in line, len(line.splitlines()), KEPT in line)
