#!/bin/bash
# Half of the reward for each folder.
right=0
[ "$(cat letters/a/name.txt 2>/dev/null)" = A ] && right=$((right + 1))
[ "$(cat letters/b/name.txt 2>/dev/null)" = B ] && right=$((right + 1))
case "$right" in 0) reward=0 ;; 1) reward=0.5 ;; 2) reward=1 ;; esac
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
