"""Extra headers: valid ones keep their order, invalid ones are refused in one line that shows no secret."""

from __future__ import annotations

import pytest

from openapi.extra_headers import ExtraHeader, HeaderError, parse_headers

SECRET = "s3cret-value"
ENVIRONMENT = {"KEY": f" {SECRET} ", "EMPTY": "", "BROKEN": f"{SECRET}\a", "UMLAUT": f"{SECRET}\u00fc"}


def test_headers_keep_their_order_and_values_from_the_environment_are_secret() -> None:
    assert (ExtraHeader("X-Tenant", "blue: 1"), ExtraHeader("api-key", SECRET, secret=True)) == parse_headers(
        ["X-Tenant:  blue: 1 "], ["api-key=KEY"], ENVIRONMENT
    )


REFUSED = {
    "no colon": (["X-Tenant acme"], [], "missing colon"),
    "no equals sign": ([], [f"api-key: {SECRET}"], "missing '='"),
    "no name": ([": acme"], [], "letters, digits"),
    "a space in the name": (["X Tenant: acme"], [], "letters, digits"),
    "a space after the name": (["X-Tenant : acme"], [], "letters, digits"),
    "no token for a name": ([], ["schl\u00fcssel=KEY"], "letters, digits"),
    "no value": (["X-Tenant: "], [], "missing value"),
    "a control character": (["X-Tenant: a\r\nX-Other: b"], [], "printable ASCII"),
    "not ASCII": (["X-Tenant: \u00fcmlaut"], [], "printable ASCII"),
    "a secret control character": ([], ["api-key=BROKEN"], "printable ASCII"),
    "a secret beyond ASCII": ([], ["api-key=UMLAUT"], "printable ASCII"),
    "an unset variable": ([], ["api-key=NO_SUCH"], "--header-env api-key=NO_SUCH: the environment variable"),
    "an empty variable": ([], ["api-key=EMPTY"], "not set or empty"),
    "the secret itself": ([], [f"api-key={SECRET}"], "invalid name of an environment variable"),
    "a name twice": (["X-Tenant: a", "x-tenant: b"], [], "given twice"),
    "a name in both": (["API-KEY: a"], ["api-key=KEY"], "given twice"),
    "the key": (["Authorization: Bearer x"], [], "pass the API key with --api-key-env"),
    **{
        f"{name} by {option}": (plain, secret, "follows from each request")
        for name in ("Host", "content-length", "Content-Type", "Transfer-Encoding", "Connection", "accept", "Expect")
        for option, plain, secret in (("text", [f"{name}: x"], []), ("variable", [], [f"{name}=KEY"]))
    },
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_an_invalid_header_is_refused_in_one_line_without_the_secret(mistake: str) -> None:
    plain, secret, words = REFUSED[mistake]
    with pytest.raises(HeaderError) as refused:
        parse_headers(plain, secret, ENVIRONMENT)
    line = str(refused.value)
    assert (True, 1, False) == (words in line, len(line.splitlines()), SECRET in line)
