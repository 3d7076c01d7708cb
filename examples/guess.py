"""A whole environment: try `agentrl play examples/guess.py:Guess`."""

from agentrl import ToolEnv, tool


class Guess(ToolEnv):
    """Guess a number between 1 and 100."""

    max_turns = 10

    def task(self):
        self.secret = int(self.np_random.integers(1, 101))
        return "Guess my number between 1 and 100."

    @tool
    def guess(self, number: int) -> str:
        """Guess the number. Args: number: your guess."""
        if number == self.secret:
            self.finish(1.0)
            return "Right!"
        return "higher" if number < self.secret else "lower"
