"""``quietcrowd infer`` and ``randomize`` with a store from ``quietcrowd convert --to store``."""

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from quietcrowd.commands import options
from quietcrowd.commands.files import gold_error, read_gold, read_ids, require_public_lists
from quietcrowd.commands.printing import (
    announce_exact_noise,
    closing_words,
    counted,
    note,
    print_guarantee,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import require_no_overwriting
from quietcrowd.gold import KnownTruthError
from quietcrowd.inference import usual_method
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.mechanisms import Mechanism
from quietcrowd.scale import Store, connect, infer_store, randomize_store
from quietcrowd.scale.executor import Executor
from quietcrowd.scale.partition_job import truth_domain
from quietcrowd.scale.randomizing import check_randomizable

_USUAL = {"--columns": options.USUAL_COLUMNS, "--duplicates": options.USUAL_DUPLICATES}
"""Defaults of text options; other options default to None, and flags to False."""


def require_undescribed(given: Mapping[str, object]) -> None:
    """Raise ParameterError if options describe the contents, which a store does itself."""
    for option, value in given.items():
        if value not in (None, False, _USUAL.get(option)):
            raise ParameterError("commands.store-takes-no-option", option=option)


def infer_from_store(
    folders: list[Path],
    choose: Callable[[str], FittingMethod],
    method: str | None,
    dask: str | None,
    *,
    output: Path | None,
    workers: Path | None,
    gold: Path | None,
    field: str | None,
    decimal: str | None,
    checkpoint: Path | None,
) -> None:
    """Infer truths from a store; `choose` creates a method from its name."""
    if len(folders) > 1:
        raise ParameterError("commands.store-not-alone")
    if output is None:
        raise ParameterError("commands.truths-output-missing")
    chosen = None if method is None else choose(method)
    if gold is not None:
        require_no_overwriting(gold, output, workers, checkpoint)
    store = Store.open(folders[0])
    known = None if gold is None else read_gold(gold, field, decimal, beside_answers=False)
    try:
        with _executor(dask) as executor:
            estimate = infer_store(
                store,
                chosen or choose(usual_method(store.domain, store.mechanism)),
                output,
                workers,
                gold=known,
                checkpoint=checkpoint,
                executor=executor,
                progress=sys.stderr.isatty(),
            )
    except KnownTruthError as error:
        raise gold_error(error, gold) from None
    labels = estimate.method.infers_labels(truth_domain(store, estimate.method))
    note(
        closing_words(
            estimate,
            counts=(store.tasks, len(store.workers), len(store)),
            known=estimate.known,
            null_reports=store.dropped.null_reports,
            tied=estimate.tied if labels else None,
            by_default=chosen is None,
        )
    )
    for sentence in estimate.notes:
        note(sentence)


def randomize_a_store(
    folder: Path,
    output: Path,
    mechanism: tuple[str, Callable[..., Mechanism]],
    epsilon: float,
    simulate: int | None,
    dask: str | None,
    *,
    tasks: Path | None,
    workers: Path | None,
    participation_is_public: bool,
) -> None:
    """Randomize a store; `mechanism` is a name with parameters, and its factory."""
    name, maker = mechanism
    store = Store.open(folder)
    randomiser = check_randomizable(
        store,
        maker(domain=store.domain, epsilon=epsilon),
        participation_is_public=participation_is_public,
    )
    if simulate is None and (tasks is None or workers is None):
        require_public_lists(name, randomiser)
    listed = read_ids(tasks, "task"), read_ids(workers, "worker")
    number = len(store.workers if listed[1] is None else listed[1])
    if simulate is None:
        parts = store.partitions
        count = store.tasks if listed[0] is None else len(listed[0])
        shares = [count * part.tasks // max(store.tasks, 1) for part in parts]
        announce_exact_noise(
            sum(
                randomiser.noise_draws(answers=part.rows, tasks=share, workers=number)
                for part, share in zip(parts, shares, strict=True)
            )
        )
    with _executor(dask) as executor:
        reports = randomize_store(
            store,
            randomiser,
            output,
            random_state=simulate,
            tasks=listed[0],
            workers=listed[1],
            participation_is_public=participation_is_public,
            executor=executor,
            progress=sys.stderr.isatty(),
        )
    sent = len(reports) + reports.dropped.null_reports
    note(f"{counted(sent, 'report')} written to {output}; workers: {len(reports.workers):,}.")
    print_guarantee(
        randomiser,
        name,
        store.answers_per_worker,
        reports.tasks,
        simulated=reports.simulated,
        listed=tasks is not None,
        left_out=store.dropped.out_of_domain,
    )


def _executor(scheduler: str | None) -> AbstractContextManager[Executor | None]:
    return nullcontext() if scheduler is None else connect(scheduler)
