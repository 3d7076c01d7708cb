#!/bin/bash
check() { [ "$(printf "$1" | timeout 5 ./longest.sh 2>/dev/null)" = "$2" ]; }
if [ -x longest.sh ] && check 'a\nccc\nbb\n' ccc && check 'xy\nab\n' xy && check '  z\nq\n' '  z'; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
