"""The side of sentence-transformers: embed.py FOLDER TEXTS.json THREADS prints one JSON object, as `peers embed` does."""

import json
import os
import sys
import time

folder, texts, threads = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
os.environ["OMP_NUM_THREADS"] = str(threads)
os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"

import torch
from sentence_transformers import SentenceTransformer

torch.set_num_threads(threads)
model = SentenceTransformer(folder, device="cpu")
# the length that the model was trained for, and that the other side reads
model.max_seq_length = 512
model.encode(texts[:1])

wall, processor = time.perf_counter(), time.process_time()
vectors = model.encode(texts, batch_size=int(os.environ.get("BATCH", 32)), normalize_embeddings=True)
wall, processor = time.perf_counter() - wall, time.process_time() - processor
print(json.dumps({"seconds": wall, "processor": processor, "vectors": [[float(x) for x in row] for row in vectors]}))
