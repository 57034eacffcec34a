"""Mechanisms whose reports are drawn in a browser, by the page's own modules."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import fields

from quietcrowd.campaign.terms.channels import report_rule
from quietcrowd.domains import FiniteDomain
from quietcrowd.mechanisms import Reports
from quietcrowd.mechanisms.taskwise import dense_table

CALL = """async ([name, ...values]) => {
  const module = await import("./draw_crowd.js");
  return module[name](...values);
}"""


def terms_of(mechanism, tasks):
    """Return what a configuration says of a mechanism, for so many tasks."""
    return {
        "mechanism": mechanism.to_dict(),
        "channel": mechanism.channel.describe(),
        "report": report_rule(mechanism, tasks).to_dict(),
    }


def in_page(mechanism, page):
    """Return the mechanism once more, of a class that has its reports from a page's modules."""
    kind = type(mechanism)

    class InPage(kind):
        def _randomize(self, answers, rng):  # noqa: ARG002
            return sent_by_page(self, answers, page)

    return InPage(**{one.name: getattr(mechanism, one.name) for one in fields(kind)})


def sent_by_page(mechanism, answers, page):
    """Return what the workers send, drawn in one call."""
    names = pc.cast(answers.tasks, pa.string()).to_pylist()
    cells = np.full((len(answers.workers), len(names)), -1)  # places in the list of all answers
    cells[answers.worker_codes, answers.task_codes] = np.arange(len(answers))
    labels = labels_of(answers)
    codes = np.where(cells < 0, -1, codes_of(labels)[cells])
    rows, whose = np.unique(codes, axis=0, return_inverse=True)
    known = dict(zip(codes_of(labels).tolist(), labels, strict=True)) | {-1: None}
    given = [[known[code] for code in row] for row in rows.tolist()]
    words = [terms_of(mechanism, len(names)), names, given, json.dumps(whose.reshape(-1).tolist())]
    sent = json.loads(page.evaluate(CALL, ["drawCrowd", *words]))
    return read(mechanism, answers, sent)


def labels_of(answers):
    """Return each answer, as a person gives it."""
    values = answers.values.tolist()
    domain = answers.domain
    return [domain.labels[code] for code in values] if isinstance(domain, FiniteDomain) else values


def codes_of(labels):
    """Return a number for each, equal for equal ones."""
    place = {}
    return np.array([place.setdefault(label, len(place)) for label in labels])


def read(mechanism, answers, sent):
    """Return reports of what the page sent for some answers."""
    if "numbers" in sent:
        sketches = np.array(sent["numbers"], np.int64)
        nothing = np.zeros((len(answers.tasks), len(answers.workers)))  # an audit reads sketches
        table = dense_table(answers, mechanism.report_domain, nothing)
        return Reports(table=table, mechanism=mechanism, sketches=sketches)
    values = np.array(sent["values"], float)  # NaN where nothing was sent
    domain, bits = mechanism.report_domain, None
    if mechanism.every_task:
        table = dense_table(answers, domain, values.T.astype(domain.dtype))
        if mechanism.participation_domain is not None:
            dtype = mechanism.participation_domain.dtype
            bits = np.array(sent["bits"]).T.reshape(-1).astype(dtype)
    else:
        own = values[answers.worker_codes, answers.task_codes]
        assert np.isfinite(values).sum() == len(own)
        table = answers.with_values(domain, own.astype(domain.dtype))
    assert np.isfinite(table.values).all()
    return Reports(table=table, mechanism=mechanism, participation_codes=bits)
