"""The benchmarks' own files, to and from metric records; one module a benchmark.

Each has ``read(source, format="auto")``, which gives a :class:`formats.files.Corpus`, and ``write``. `source` is a path
(``.gz`` is unpacked, ``-`` is standard input) or an open text file. Parsing never evaluates code, and a file that is
not what it should be is a ``ValueError`` with file and line.
"""
