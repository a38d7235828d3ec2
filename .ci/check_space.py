"""Check a Space, in its own folder and environment: its demo scores its examples as its metric does."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import evaluate
from gradio_client import Client

sys.path.insert(0, ".")
from spanscore.demo.requests import AVAILABLE
from spanscore.examples import examples_of

space = sys.argv[1]
(benchmark,) = AVAILABLE.values()
assert space == f"{benchmark.name}_metric"

with socket.socket() as found:
    found.bind(("127.0.0.1", 0))
    port = found.getsockname()[1]
environment = {**os.environ, "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(port)}
server = subprocess.Popen([sys.executable, "app.py"], env=environment, stdout=subprocess.DEVNULL)
try:
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        assert server.poll() is None, "the demo has ended"
        try:
            urllib.request.urlopen(url, timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    client = Client(url, verbose=False)
    for example in examples_of(benchmark):
        predictions, references = example.read()
        metric = evaluate.load(f"./{space}.py", example.task)
        expected = metric.compute(predictions=predictions, references=references, **example.arguments())
        files = {name: path.read_text() for name, path in example.files.items()}
        texts = example.predictions.read_text(), example.references.read_text()
        result = client.predict(benchmark.name, *texts, {**example.options, **files}, api_name="/score")
        assert result == json.loads(json.dumps(expected)), example.title
        print(f"spaces: {space}: {example.title}: {result['signature']}")
finally:
    server.terminate()
    server.wait()
