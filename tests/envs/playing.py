"""One episode of the expert: what the tests of many environments begin with."""


def rewards_of(env, seed, split="train"):
    """The reward of every turn, and the last info."""
    env.reset(seed=seed, options={"split": split})
    rewards, over, info = [], False, {}
    while not over:
        _, reward, terminated, truncated, info = env.step(env.expert())
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info


def play(env, seed, split="train"):
    """The return, and the last info."""
    rewards, info = rewards_of(env, seed, split)
    return sum(rewards), info
