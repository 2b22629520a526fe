"""Search: services for the web and for papers, the library of documents, merging and ranking of results.

May import `web`, `_util`, `config`, `plugins` and what is below them."""
