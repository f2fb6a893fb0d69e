# Runs first and last in each job: `bash ci/ledger.sh start|end`.
#
# With RUN_LEDGER set to a file outside the checkout, one line is appended to it, so that whoever reads the file can
# prove that no script ran twice. One short write to a file opened for appending does not mix with those of other jobs.
set -eu
if [ -n "${RUN_LEDGER:-}" ]; then
  echo "$CI_JOB_ID $CI_JOB_NAME $1" >> "$RUN_LEDGER"
fi
if [ "$1" = end ]; then
  echo "ran $CI_JOB_NAME"
fi
