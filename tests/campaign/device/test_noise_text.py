"""What is said of the distribution, beside what devices draw."""

import re

import numpy as np
import pytest
from tests.campaign.mechanisms import MECHANISMS

import quietcrowd as qc
from quietcrowd.campaign.device.noise_text import noise_sentences, noise_table, show_share
from quietcrowd.mechanisms.channels import TableChannel


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_its_distribution_in_sentences(name):
    distribution = noise_sentences(MECHANISMS[name], 20)
    assert all(sentence.endswith(".") for sentence in distribution)
    assert re.search(r"\d", distribution[0])
    again = "same report again" if MECHANISMS[name].name in ("one-layer", "laplace") else "fresh"
    assert again in distribution[-1]


@pytest.mark.parametrize("name", ["one-layer", "one-layer with NULL", "two-layer"])
def test_the_table_is_the_channel(name):
    mechanism = MECHANISMS[name]
    head, *rows = noise_table(mechanism)
    assert list(head[1:]) == [row[0] for row in rows]
    shares = np.array([[float(one.removesuffix(" %")) for one in row[1:]] for row in rows]) / 100
    assert np.abs(shares - mechanism.channel.probabilities).max() <= 0.0005
    kept = show_share(mechanism.channel.probabilities[0, 0])
    assert (
        f"the answer 'no' is reported as 'no' in {kept} of all cases"
        in noise_sentences(mechanism, 3)[1]
    )


def test_a_table_of_many_labels_is_none():
    many = qc.RandomizedResponse(domain=qc.Categorical([f"l{i}" for i in range(40)]), epsilon=3.0)
    assert noise_table(many) == ()
    assert (
        "as 'l0' in 34.0 % of all cases, and as each of the others in 1.7 %"
        in (noise_sentences(many, 3)[1])
    )
    assert noise_table(MECHANISMS["laplace"]) == ()


@pytest.mark.parametrize("name", ["laplace", "laplace, filled"])
def test_the_spread_of_numbers_is_that_of_the_noise(name):
    channel = MECHANISMS[name].channel
    told = re.search(
        r"within (\S+) of the .* within (\S+)\. An", noise_sentences(MECHANISMS[name], 3)[1]
    )
    reach = np.arange(1, round(40 * channel.noise.scale))
    weights = np.exp(-reach / channel.noise.scale)
    shares = (1 + 2 * np.concatenate([[0], np.cumsum(weights)])) / (1 + 2 * weights.sum())
    for within, share in zip(told.groups(), (0.5, 0.95), strict=True):
        least = np.searchsorted(shares, share)
        assert float(within) == pytest.approx(least * channel.grid.step, rel=0.005)


def test_the_deviation_that_is_told_is_that_of_the_noise():
    mechanism = MECHANISMS["matrix factorisation"]
    told = float(re.search(r"deviation .*is ([\d.]*\d)", noise_sentences(mechanism, 3)[1])[1])
    channel = mechanism.channel
    exact = np.sqrt(channel.noise.variance) * channel.scale / channel.noise.scale
    assert told == pytest.approx(exact, rel=0.005)


def test_a_share_is_never_none_or_all():
    assert [show_share(one) for one in (0.0, 1e-9, 0.0005, 0.5, 0.9995, 1.0)] == [
        *("0.0 %", "under 0.1 %", "0.1 %", "50.0 %", "over 99.9 %", "100.0 %")
    ]


def test_answers_and_reports_of_other_names():
    class UnaryEncoding(qc.RandomizedResponse):
        """A bit for each label."""

        report_domain = qc.Categorical(["00", "01", "10", "11"])

        @property
        def channel(self):
            bits = np.array([[int(one) for one in name] for name in self.report_domain.labels])
            kept = (bits[np.newaxis] == np.eye(2)[:, np.newaxis]).sum(axis=2)
            return TableChannel.rounded(0.75**kept * 0.25 ** (2 - kept))

    mechanism = UnaryEncoding(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
    assert (
        "the answer 'no' is reported as '10' in 56.2 % of all cases, and as each of the others in "
        "6.2 % to 18.8 %." in noise_sentences(mechanism, 3)[1]
    )
    assert noise_table(mechanism) == (
        ("", "00", "01", "10", "11"),
        ("no", "18.8 %", "6.2 %", "56.2 %", "18.8 %"),
        ("yes", "18.8 %", "56.2 %", "6.2 %", "18.8 %"),
    )
