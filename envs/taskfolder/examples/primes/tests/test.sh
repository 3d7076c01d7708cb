#!/bin/bash
if [ "$(md5sum < primes.txt 2>/dev/null)" = "$(bash "$(dirname "$0")/expected.sh" | md5sum)" ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
