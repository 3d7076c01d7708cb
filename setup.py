"""Adds one file to what pyproject.toml says: the start-up hook that registers the environments with Gymnasium."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

HOOK = "agentrl_gymnasium.pth"


class BuildWithHook(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            Path(self.build_lib).mkdir(parents=True, exist_ok=True)
            shutil.copy(HOOK, self.build_lib)

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib) / HOOK)]


class EditableWithHook(editable_wheel):
    def _run_build_commands(self, dist_name, unpacked_wheel, build_lib, tmp_dir):
        result = super()._run_build_commands(dist_name, unpacked_wheel, build_lib, tmp_dir)
        shutil.copy(HOOK, unpacked_wheel)
        return result


setup(cmdclass={"build_py": BuildWithHook, "editable_wheel": EditableWithHook})
