import socket

from quietcrowd.campaign.server.listening import listener
from quietcrowd.campaign.terms.settings import Settings


def test_an_answer_does_not_wait_for_its_first_packet_to_be_confirmed():
    with listener(Settings(port=0)) as found, socket.create_connection(found.getsockname()):
        accepted, _ = found.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
