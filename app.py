"""The web demo: files in; scores, and a report with every document, out. A Space of the Hub shows its own benchmark."""

from spanscore.demo.__main__ import main

if __name__ == "__main__":
    main()
