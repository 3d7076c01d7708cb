#!/bin/bash
for ((n = 2; n < 98; n++)); do
  for ((d = 2; d * d <= n; d++)); do ((n % d)) || continue 2; done
  echo "$n"
done > primes.txt
