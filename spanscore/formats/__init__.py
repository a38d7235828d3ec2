"""Files of the benchmarks, to and from metric records. Each benchmark has one module.

Each module has ``FORMATS``, ``read`` and ``write``:

``read(source, format="auto")``
    gives a `spanscore.formats.files.Corpus`. The source is a path or an open text file. A path that ends in ``.gz`` is
    unpacked, and ``-`` is standard input.
``write(path, records, format=...)``
    writes records of the metric to a file.

A module may also have functions for what its benchmark alone needs:

``detect(file)``
    finds the format of a `TextFile`, if single records do not show it;
``detect_path(source)``
    finds the format by the name of a file;
``line_mistakes(line, format)``
    finds several mistakes in one line;
``task_of(records)``
    tells the task of references, if the benchmark has several tasks;
``document_text(record)``
    gives the `spanscore.formats.files.DocumentText` of a reference, if it is not in the field ``tokens``.

Reading never evaluates code. A file that does not have its format raises a ``ValueError`` with file and line.
"""
