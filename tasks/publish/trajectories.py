"""trajectories/: what agents did in the published environments, as ATIF JSON, and an index with their rewards."""

import json
from collections.abc import Iterable

from blocks.trees import File
from tasks.publish.member import Member, slug


def trajectory_files(members: Iterable[Member]) -> dict[str, File]:
    """`trajectories/<task id>/<agent>.json` and `trajectories/index.jsonl`, one line per rollout.

    `graded` says how the reward came about: `separate` means a fresh container of the pristine image.
    """
    files: dict[str, File] = {}
    lines: list[str] = []
    for member in members:
        for rollout in member.rollouts:
            path = f"trajectories/{member.task_id}/{slug(rollout.agent)}.json"
            content = member.trajectories.get(rollout.agent)
            if content is not None:
                files[path] = File(content=content)
            row = {
                "task_id": member.task_id,
                "rollout_id": rollout.rollout_id,
                "agent": rollout.agent,
                "model": rollout.model,
                "reward": rollout.reward,
                "graded": "separate",
                "exit_reason": rollout.exit_reason,
                "steps": rollout.steps,
                "repository": member.candidate.repository,
                "licence": member.licence,
                "image": member.environment.image,
                "path": path if content is not None else None,
            }
            lines.append(json.dumps(row, ensure_ascii=False))
    return {**files, "trajectories/index.jsonl": File(content="".join(f"{line}\n" for line in lines).encode())}
