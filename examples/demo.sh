#!/bin/sh
# The main job once: what is wrong here, what would be changed, and what is served. Changes nothing.
servelint="${1:-servelint}"
cd "$(dirname "$0")/.." || exit 2
run() {
    echo "\$ servelint $*"
    "$servelint" "$@"
    echo
}
run check examples
run fix --diff examples/bad/ollama
run inventory examples/good
exit 0
