// How the process ends on SIGTERM or SIGINT.

const STOP_TIMEOUT_MS = 10_000

type StopStep = () => Promise<void> | undefined | void

/**
 * The first signal runs the steps in order and exits with 0. A second signal, or steps that take too long, exit with 1.
 * Before `stopWith` is called there is nothing to stop.
 */
export function onStop(): (steps: readonly StopStep[]) => void {
  let steps: readonly StopStep[] = []
  let isStopping = false
  const stop = async () => {
    for (const step of steps) await step()
  }
  const begin = () => {
    if (isStopping) process.exit(1)
    isStopping = true
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`fleet: the service did not stop cleanly: ${String(error)}\n`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', begin)
  process.on('SIGINT', begin)
  return (given) => {
    steps = given
  }
}
