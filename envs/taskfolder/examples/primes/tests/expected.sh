factor $(seq 2 97) | awk 'NF == 2 { print $2 }'
