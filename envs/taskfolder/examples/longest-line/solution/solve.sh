#!/bin/bash
cat > longest.sh <<'SCRIPT'
#!/bin/bash
awk 'NR == 1 || length($0) > length(best) { best = $0 } END { print best }'
SCRIPT
chmod +x longest.sh
