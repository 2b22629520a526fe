"""Python in Monty: an interpreter without files, network or processes to offer, and without most of the library.

For systems where CPython cannot be sealed.  Runs as `python -m research.sandbox.monty` in a process set apart.
"""

from __future__ import annotations

import sys

import msgspec

from research.sandbox.apart import confine
from research.sandbox.job import OUTPUT_CHARACTERS, TRACEBACK_CHARACTERS, Head, Job, Result, out_of_time

MEMORY = 256 * 2**20
"""Bytes of objects that the code may hold."""

_START_S = 10.0


def _interpret(job: Job) -> Result:
    import pydantic_monty

    said = Head()
    limits = pydantic_monty.ResourceLimits(max_feed_duration_secs=job.timeout_s, max_memory=MEMORY)
    with (
        pydantic_monty.Monty(max_processes=1, request_timeout=job.timeout_s + 1) as pool,
        # Sleeping would not count as execution time.
        pool.checkout(limits=limits, os_policy={"sleep": "zero"}) as session,
    ):
        try:
            value = session.feed_run(job.code, print_callback=lambda _stream, text: said.add(text))
        except (pydantic_monty.MontySyntaxError, pydantic_monty.MontyRuntimeError) as error:
            return Result(said.text, said.length, error.display()[-TRACEBACK_CHARACTERS:])
        except pydantic_monty.MontyCrashedError as error:
            return Result(said.text, said.length, out_of_time(job.timeout_s) if error.timed_out else str(error))
    if said.length or value is None:
        return Result(said.text, said.length)
    sys.set_int_max_str_digits(0)  # long integers are results like any other
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
