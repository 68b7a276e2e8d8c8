# Runs one function of scripts/lib with the fake programs first on PATH.
# usage: bash setup.sh CHECKOUT FUNCTION ARGUMENT...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$1/scripts/lib/common.sh"
. "$1/scripts/lib/setup.sh"
# Logs of a test stay away from those of the run that contains it.
D2K_LOGS=$TEST_LOGS
PATH=$here/fake-bin:$PATH
shift
"$@" </dev/null
