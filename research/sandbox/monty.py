"""Run a model's code in Monty, a Python interpreter without files, network, processes or most of the standard library.

Used on systems where CPython cannot be sealed.  Runs as `python -m research.sandbox.monty` in an isolated process.
"""

from __future__ import annotations

import sys

import msgspec

from research.sandbox.job import OUTPUT_CHARACTERS, SEED, TRACEBACK_CHARACTERS, Job, OutputHead, Result, out_of_time
from research.sandbox.process import confine

MEMORY = 256 * 2**20
"""Most bytes of the code's objects."""

_START_S = 10.0
_SEEDED = "def _seed():\n    import random\n    random.seed({})\n_seed()"
"""Seeds all random numbers equally; a function, so that the code gets no extra names."""


def _interpret(job: Job) -> Result:
    import pydantic_monty

    printed = OutputHead()
    limits = pydantic_monty.ResourceLimits(max_feed_duration_secs=job.timeout_s, max_memory=MEMORY)
    with (
        pydantic_monty.Monty(max_processes=1, request_timeout=job.timeout_s + 1) as pool,
        # Monty does not count sleeping as execution time.
        pool.checkout(limits=limits, os_policy={"sleep": "zero"}) as session,
    ):
        try:
            session.feed_run(_SEEDED.format(SEED))
            value = session.feed_run(job.code, print_callback=lambda _stream, text: printed.add(text))
        except (pydantic_monty.MontySyntaxError, pydantic_monty.MontyRuntimeError) as error:
            return Result(printed.text, printed.length, error.display()[-TRACEBACK_CHARACTERS:])
        except pydantic_monty.MontyCrashedError as error:
            message = out_of_time(job.timeout_s) if error.timed_out else str(error)
            return Result(printed.text, printed.length, message)
    if printed.length or value is None:
        return Result(printed.text, printed.length)
    sys.set_int_max_str_digits(0)  # the result may be a very long integer
    try:
        shown = repr(value)
    except RecursionError:
        return Result(error="the last expression is nested too deeply to be shown: print a part of it")
    return Result(shown[:OUTPUT_CHARACTERS], len(shown))


def _main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    confine(job.timeout_s + _START_S)
    sys.stdout.buffer.write(msgspec.json.encode(_interpret(job)))


if __name__ == "__main__":
    _main()
