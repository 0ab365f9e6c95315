"""What `langgraph dev` and LangGraph Studio read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from langgraph_cli.config import validate_config_file
from langgraph_cli.schemas import Config

RESOLVE = """
import importlib, json, sys
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

for target in json.loads(sys.argv[1]):
    module, _, name = target.partition(":")
    found = getattr(importlib.import_module(module), name)
    assert isinstance(found, (Pregel, StateGraph)) or callable(found), (target, found)
"""


def test_the_file_is_valid_and_holds_no_secret(root: Path) -> None:
    raw = json.loads((root / "langgraph.json").read_text(encoding="utf-8"))
    assert raw.keys() <= Config.__annotations__.keys()
    assert "env" not in raw, "keys come from the environment of whoever starts the server"

    config = validate_config_file(root / "langgraph.json")
    assert config.get("dependencies") == ["."]


def test_a_real_model_is_named_by_the_environment(
    run_python: Callable[..., str], no_network: str, tmp_path: Path
) -> None:
    script = """
from longthread.graphs.studio import agent
print(type(agent.builder.nodes["reasoning"].runnable.model.bound).__name__)
"""
    environment = {"LONGTHREAD_MODEL": "openai:gpt-5-mini", "OPENAI_API_KEY": "sk-none"}
    assert "OpenAI" in run_python("-c", no_network + script, cwd=tmp_path, env=environment)


def test_every_graph_resolves_without_a_key_and_without_the_network(
    root: Path, run_python: Callable[..., str], no_network: str, tmp_path: Path
) -> None:
    config = json.loads((root / "langgraph.json").read_text(encoding="utf-8"))
    graphs = config["graphs"].values()
    targets = [graph if isinstance(graph, str) else graph["path"] for graph in graphs]
    assert "longthread.graphs.studio:agent" in targets
    if "http" in config:
        targets.append(config["http"]["app"])
    assert all(target.startswith("longthread.") for target in targets)

    run_python("-c", no_network + RESOLVE, json.dumps(targets), cwd=tmp_path)
