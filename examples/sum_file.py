"""Add the numbers of a file with a shell: the smallest environment with a sandbox."""

from agentrl import tool
from agentrl.core.messages import call
from agentrl.envs.sandboxed import SandboxEnv
from agentrl.tools.running import bash


class Sum(SandboxEnv):
    """Add the numbers of a file with a shell."""

    max_turns = 8

    def __init__(self, **settings):
        super().__init__(**settings)
        self.tools = (bash(self.box), *self.tools)

    def assignment(self):
        self.numbers = [int(n) for n in self.np_random.integers(0, 1000, 200)]
        return "Add the numbers in numbers.txt and answer with the sum."

    async def furnish(self, box):
        await box.write("numbers.txt", "\n".join(map(str, self.numbers)))

    @tool
    async def answer(self, total: int) -> str:
        """Answer. Args: total: the sum."""
        self.finish(float(total == sum(self.numbers)))
        return f"You said {total}."

    def expert(self):
        return call("answer", total=sum(self.numbers))
