"""The web demo: a Gradio page and its API, which score files in processes of their own. ``app.py`` starts it."""
