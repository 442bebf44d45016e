// Tracks every process that the bench starts, so that none outlives it.
import type { ChildProcess } from 'node:child_process'
import { within } from '../measure/deadline.ts'

const KILL_MS = 15_000
const running = new Set<ChildProcess>()

export interface TrackedProcess {
  readonly pid: number
  /** Resolves once the process has ended. */
  readonly gone: Promise<void>
  isGone(): boolean
  kill(signal?: NodeJS.Signals): Promise<void>
}

export function track(child: ChildProcess): TrackedProcess {
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot start ${child.spawnfile}`)
  running.add(child)
  let isGone = false
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => {
      isGone = true
      running.delete(child)
      resolve()
    })
  })
  return {
    pid,
    gone,
    isGone: () => isGone,
    async kill(signal = 'SIGTERM') {
      if (isGone) return
      child.kill(signal)
      await within(KILL_MS, `end of ${child.spawnfile}`, gone).catch(() => child.kill('SIGKILL'))
      await gone
    },
  }
}

/** Kills the remaining processes when the bench ends for any reason. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}
