// How the process ends when it is told to.

const STOP_MS = 10_000

/**
 * SIGTERM drains and exits 0; a second one exits at once, and so does a drain that hangs. Until it is told how to stop
 * there is nothing to drain: nobody was told that the service is there.
 */
export function onStop(): (stop: () => Promise<void>) => void {
  let stop = async () => {}
  let isStopping = false
  const begin = () => {
    if (isStopping) process.exit(1)
    isStopping = true
    setTimeout(() => process.exit(1), STOP_MS).unref()
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`fleet: stopping failed: ${String(error)}\n`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', begin)
  process.on('SIGINT', begin)
  return (how) => {
    stop = how
  }
}
