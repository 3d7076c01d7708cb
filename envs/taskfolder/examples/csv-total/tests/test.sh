#!/bin/bash
reward=0
if [ "$(tail -n +2 orders.csv 2>/dev/null | awk -F, '{ sum += $2; n += 1 } END { print n, sum }')" = "3 57" ] &&
   [ "$(cat total.txt 2>/dev/null)" = 57 ]; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
