"""deploy/Dockerfile: every step, and what it leads to, without a daemon."""

import threading
from pathlib import Path

import httpx
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url, wait_until_ready
from tests.campaign.uploading import Uploader, open_campaign
from tests.campaign.waiting import LONG, in_time
from tests.deploy import container
from tests.programs import finished

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = REPOSITORY / "deploy" / "Dockerfile"


def test_it_takes_no_step_that_is_not_tried():
    names = {name for name, _ in container.instructions(DOCKERFILE)}
    assert names <= {"FROM", *container.STEPS}
    stages = [rest for name, rest in container.instructions(DOCKERFILE) if name == "FROM"]
    assert {stage.partition(" AS ")[0] for stage in stages} == {container.BASE}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    program = container.find_mmdebstrap()
    if program is None:
        pytest.skip(container.HOW_TO_GET_IT)
    folder = tmp_path_factory.mktemp("image")
    base = folder / "base.tar"
    words = [program, "--quiet", "--variant=minbase", f"--include={container.PACKAGES}"]
    finished(*words, container.RELEASE, base, container.MIRROR, check=True)
    built = container.build(DOCKERFILE, REPOSITORY, folder, base)
    yield built
    finished("rm", "-rf", folder)


@pytest.mark.nightly
def test_a_server_runs_as_nobody_on_a_root_that_is_read_only(image, tmp_path):
    """Truths are inferred, too, by the compiled kernels."""
    assert image.user not in {"root", "0"}
    port = free_port()
    key = image.run("quietcrowd", "admin", "create-key", "requester")
    assert key.status == 0, key.errors
    log = tmp_path / "log"
    with container.run_read_only(image, log, *image.command, "--port", str(port)) as server:
        wait_until_ready(base_url(port), lambda: not server.has_ended)
        health = [word.replace(":8000/", f":{port}/") for word in image.health]
        assert health != image.health
        assert image.run(*health).status == 0
        campaign = open_campaign(base_url(port), key.output.strip(), 20)
        for _ in range(12):
            worker = Uploader(campaign, threading.Event(), threading.Event())
            with worker.client:
                worker.join()
                worker.run(worker.tasks())
        authorized = {"Authorization": f"Bearer {campaign.key}"}
        url = f"{base_url(port)}/campaigns/{campaign.id}/results"

        def inferred():
            return httpx.get(url, headers=authorized, verify=PLAIN, timeout=LONG).status_code == 200

        assert in_time(inferred, every=1), log.read_text()[-1000:]
        assert image.run(*health).status == 0
        server.process.terminate()
        server.finished()
    assert image.run(*health).status != 0


@pytest.mark.nightly
def test_pg_dump_is_of_the_version_of_postgresql_in_the_compose_file(image):
    told = image.run("pg_dump", "--version").output
    services = (REPOSITORY / "deploy" / "compose.yaml").read_text()
    major = told.split()[2].partition(".")[0]
    assert f"postgres:{major}-{container.RELEASE}" in services
