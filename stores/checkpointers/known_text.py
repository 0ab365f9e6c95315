"""What stored values mostly say, for zlib to refer to.

A message of one sentence is mostly the names of its fields, and a checkpoint those of channels and
nodes. This text stands for both, as LangGraph's serialiser writes them. It is part of the format:
what was compressed with it is only read with it, byte for byte, so a better one needs another
suffix in `serialiser`.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

_VERSION = b"\xff"
"""Stands below for the version of a channel."""

KNOWN = (
    b"\x87\xacinput_tokens\x00\xa9estimated\x00\xa7covered\xa0\xa8position\x00\xa9decisions\xa0"
    b"\xa9evictions\x00\xadsystem_tokens\x00\xc7\xa9\x05\x94\xbclangchain_core.messages.tool"
    b"\xabToolMessage\x89\xa7content\xa0\xb1additional_kwargs\x80\xb1response_metadata\x80"
    b"\xa4type\xa4tool\xa4name\xa0\xa2id\xa0\xactool_call_id\xa0\xa8artifact\xc0\xa6status"
    b"\xa7success\xb3model_validate_json\x91\xc7\xd4\x05\x94\xbalangchain_core.messages.ai"
    b"\xa9AIMessage\x89\xa7content\xa0\xb1additional_kwargs\x80\xb1response_metadata\x80"
    b"\xa4type\xa2ai\xa4name\xc0\xa2id\xa8lc_run--\xaatool_calls\x91\x84\xa4name\xa0\xa4args"
    b"\x80\xa2id\xa0\xa4type\xa9tool_call\xb2invalid_tool_calls\x90\xaeusage_metadata\xc0"
    b"\xb3model_validate_json\x91\xc7\xb4\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage"
    b"\x89\xa7content\xa0\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai"
    b"\xa4name\xc0\xa2id\xa8lc_run--\xaatool_calls\x90\xb2invalid_tool_calls\x90"
    b"\xaeusage_metadata\xc0\xb3model_validate_json\x91\xc7\x88\x05\x94"
    b"\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content\xa0\xb1additional_kwargs"
    b"\x80\xb1response_metadata\x80\xa4type\xa5human\xa4name\xc0\xa2id\xa3lt-"
    b"\xb3model_validate_json\x87\xa1v\x04\xa2ts\xd9 2026-11-30T10:43:58.986535+00:00\xa2id"
    b"\xb21f1ecaaf-2f3f-6452\xaechannel_values\x85\xaemasked_through\xa0\xb2boundary_positions"
    b"\x81\xaemasked_through\xcd\x02E\xa5owner\x82\xa4user\xc0\xa5agent\xa5agent\xa5usage\x87"
    b"\xacinput_tokens\x00\xa9estimated\xcd4[\xa7covered\xa0\xa8position\xcd\x02Y\xa9decisions"
    b"\xa0\xa9evictions\x00\xadsystem_tokens\x00\xae__pregel_tasks\x90\xb0channel_versions"
    b"\xde\x00\x10\xa9__start__\xff\xa8messages\xff\xb0branch:to:recall\xff\xa5owner\xff"
    b"\xa6memory\xff\xa7rolling\xff\xb3branch:to:reasoning\xff\xa5usage\xff\xae__pregel_tasks"
    b"\xff\xadfresh_results\xff\xb1branch:to:masking\xff\xaemasked_through\xff"
    b"\xb2boundary_positions\xff\xafbranch:to:flush\xff\xb4branch:to:compaction\xff"
    b"\xaacompaction\xff\xadversions_seen\x88\xa9__input__\x80\xa9__start__\x81\xa9__start__"
    b"\xff\xa6recall\x81\xb0branch:to:recall\xff\xa5tools\x81\xafbranch:to:tools\xff\xa7masking"
    b"\x81\xb1branch:to:masking\xff\xa5flush\x81\xafbranch:to:flush\xff\xaacompaction\x81"
    b"\xb4branch:to:compaction\xff\xa9reasoning\x81\xb3branch:to:reasoning\xff"
    b"\xb0updated_channels\x93\xa8messages\xa5usage\xafbranch:to:flush"
).replace(_VERSION, b"\xd9 " + b"0" * 29)
