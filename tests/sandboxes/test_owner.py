"""Owners: dead only if that can be known."""

import os
import subprocess
import sys
from dataclasses import replace

from agentrl.sandboxes.owner import Label, Owner, me, start_time


def test_this_process_lives():
    assert me().alive() is True
    assert Owner.parse(me().text) == me()


def test_a_number_that_was_used_again_is_another_owner():
    assert replace(me(), start=me().start - 1).alive() is False


def test_a_process_that_has_ended_is_dead():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = replace(me(), pid=child.pid, start=start_time(child.pid))
    assert owner.alive() is True
    child.communicate(b"\n")
    assert owner.alive() is False


def test_another_namespace_is_unknown():
    assert replace(me(), namespace=1).alive() is None
    assert replace(me(), namespace=1, boot="earlier").alive() is None


def test_an_earlier_boot_is_dead():
    assert replace(me(), boot="earlier").alive() is False


def test_labels_survive_a_command_line():
    label = Label.new()
    assert Label.parse(label.text()) == label
    assert Label.parse("agentrl-sandbox=nonsense") is None
    assert Label.parse("something-else={}") is None
    assert label.owner.startswith(f"{os.getpid()}:")


def test_what_is_no_owner():
    assert Owner.parse("") is None
    assert Owner.parse("1:2:3") is None
    assert Owner.parse("a:2:3:b") is None
