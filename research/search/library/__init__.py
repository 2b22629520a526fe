"""The local library: the sample Factbook and folders of files, with their indexes of words and vectors.

May import `search`, `web` and what is below them."""
