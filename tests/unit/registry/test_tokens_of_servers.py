"""Which server may have which of the user's tokens."""

import pytest

from skillkit.install.sources.download import token_name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://skills.example.com/acme", "REGISTRY_skills_example_com"),
        ("https://skills.example.com:443", "REGISTRY_skills_example_com"),
        ("https://skills-example.com", "REGISTRY_skills__example_com"),
        ("http://127.0.0.1:8790", "REGISTRY_127_0_0_1_P8790"),
        ("https://skills.p8790", "REGISTRY_skills_p8790"),
        ("https://skills_example.com", ""),
        ("https://skills-.example.com", ""),
        ("https://[::1]/", ""),
    ],
)
def test_no_two_servers_share_the_name_of_a_secret(url: str, name: str) -> None:
    assert token_name(url) == name
