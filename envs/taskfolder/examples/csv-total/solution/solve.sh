#!/bin/bash
printf 'item,price\npen,2\nbook,15\nlamp,40\n' > orders.csv
awk -F, 'NR > 1 { sum += $2 } END { print sum }' orders.csv > total.txt
