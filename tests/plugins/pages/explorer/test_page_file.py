"""The page as one file: plain texts, the licences of its libraries, and the content security policy."""

from __future__ import annotations

import base64
import hashlib
import re

from trigemu_pages.explorer.page import page_of


def test_the_page() -> None:
    """Equal data give equal text; the policy allows what is in the page alone."""
    text = page_of(["a <b> & </title><script>alert(1)</script>\x1b"], "AAAA")
    assert page_of(["a <b> & </title><script>alert(1)</script>\x1b"], "AAAA") == text
    assert text.count("<script>alert") == 0
    assert "<title>a &lt;b&gt; &amp; &lt;/title&gt;" in text
    assert "\x1b" not in text
    assert '<script type="application/octet-stream" id="data">AAAA</script>' in text
    assert "<!--" not in text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy[1].split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert "unsafe" not in policy[1]
    for tag, rule, number in (("script", "script-src", 3), ("style", "style-src", 1)):
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digests = [base64.b64encode(hashlib.sha256(c.encode()).digest()).decode() for c in contents]
        assert rules[rule] == [f"'sha256-{digest}'" for digest in digests]
        assert len(contents) == number
        assert all(content.startswith("/*!\nCopyright") for content in contents[: number - 1])
