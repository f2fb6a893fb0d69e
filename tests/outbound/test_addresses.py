"""Which addresses are public, and that one bad address spoils a name."""

from ipaddress import ip_address

import pytest

from outbound.addresses import is_public, look_up, permitted_addresses
from tests.includes.serving import Names


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "1.1.1.1",
        "2606:4700:4700::1111",
        "::ffff:93.184.215.14",
        "64:ff9b::5db8:d70e",
        "2002:5db8:d70e::1",
    ],
)
def test_public_addresses_in_all_their_forms(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "203.0.113.9",
        "224.0.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::93.184.215.14",
        "::ffff:0.0.0.0",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::5db8:d70e",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:a00:1::",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


async def test_one_internal_address_spoils_the_name() -> None:
    names = Names(mixed=[["93.184.215.14", "10.0.0.1"]], good=[["93.184.215.14", "1.1.1.1"]])
    assert await permitted_addresses("mixed", 443, names, is_public) == ()
    good = await permitted_addresses("good", 443, names, is_public)
    assert [str(address) for address in good] == ["93.184.215.14", "1.1.1.1"]


async def test_name_without_address_is_an_error() -> None:
    with pytest.raises(OSError, match="no address"):
        await permitted_addresses("none", 80, Names(none=[[]]), is_public)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "0"])
async def test_system_resolver_reads_odd_forms_and_they_are_refused(host: str) -> None:
    assert await look_up(host, 80)
    assert await permitted_addresses(host, 80, look_up, is_public) == ()
