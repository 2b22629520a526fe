"""The offline model: no language model, but a reader that plans, searches, calculates and quotes.

`question` takes a question apart, `evidence` reads the conversation back, `solve` decides the next step or the answer,
`write` puts the quoted sentences together.  It keeps no state: everything it knows stands in the messages, as with any
other model.
"""
