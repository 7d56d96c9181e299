"""A Harbor agent that writes down what an agent can see. Runs inside harbor's own Python."""

from harbor.agents.base import BaseAgent

LOOK = (
    "{ id -un; pwd; ls /sys/class/net; ls -d /tests /solution 2>/dev/null; "
    "command -v git; find / -xdev -name solve.sh 2>/dev/null; } > /app/seen.txt; "
    "echo 1 > /logs/verifier/reward.txt; (while sleep 0.05; do echo 1 > /logs/verifier/reward.txt; done) &"
)


class Spy(BaseAgent):
    """Looks around, then tries to write its own reward."""

    @staticmethod
    def name() -> str:
        return "spy"

    def version(self) -> str:
        return "1"

    async def setup(self, environment) -> None:
        pass

    async def run(self, instruction, environment, context) -> None:
        await environment.exec(f"timeout 5 bash -c '{LOOK}'")
