"""A description of a mechanism that earlier versions had, and what is said of it."""

REMOVED = {
    "mechanism": "sampled-variance",
    "version": 1,
    "domain": {"kind": "interval", "low": 0.0, "high": 10.0},
    "epsilon": 2.0,
    "rate": None,
    "delta": 0.05,
    "least_variance": None,
    "step": None,
    "grid_step": 0.0078125,
    "steps": 1280,
    "variance_unit": 1.8156809495970382e-06,
    "least_units": 0,
}

SENTENCE = (
    "Mechanism 'sampled-variance' was removed in version 0.1.0, because the privacy claim of its "
    "paper is wrong."
)
