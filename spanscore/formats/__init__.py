"""Files of the benchmarks, to and from metric records. Each benchmark has one module.

Each module has ``FORMATS``, ``read`` and ``write``:

``read(source, format="auto")``
    gives a `spanscore.formats.files.Corpus`. The source is a path or an open file of text or bytes.
    Packed files and Parquet are known by their content, text is UTF-8, and ``-`` is standard input.
``write(path, records, format=...)``
    writes records of the metric to a file.

A module may also have functions for what its benchmark alone needs:

``detect(file)``
    finds the format of a `TextFile` by its content, and raises `spanscore.formats.files.no_format` if none fits;
``LINE_FORMATS``
    are the formats whose lines are not JSON, whatever they begin with;
``detect_path(source)``
    finds the format by the name of a file;
``line_mistakes(line, format)``
    finds several mistakes in one line;
``task_of(records)``
    tells the task of references, if the benchmark has several tasks;
``to_predictions(records)``
    turns the benchmark's own references into predictions that are right, for formats of references;
``document_text(record)``
    gives the `spanscore.formats.files.DocumentText` of a reference, if it is not in the field ``tokens``.

Reading never evaluates code. A file that does not have its format raises a ``ValueError`` with file and line.
"""
