// Asks for the state of something that goes on without this command, such as a deployment. A restart of the service or a lost
// connection does not end the waiting.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cli } from './cli.ts'
import { EXIT, toFailureReport } from './failure.ts'

const PAUSE_MS = 1_000
/** A service that is away for longer than this ends the command. */
const PATIENCE_MS = 600_000

/** Resolves with the answer. Notes once that there is none, and asks again for a while. A refusal of the request itself is
 *  thrown at once. `deadline`: as in `performance.now`. */
export async function patiently<Answer>(
  cli: Cli,
  ask: () => Promise<Answer>,
  deadline = Number.POSITIVE_INFINITY,
): Promise<Answer> {
  const until = Math.min(deadline, performance.now() + PATIENCE_MS)
  let hasNoted = false
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const { exitCode, message } = toFailureReport(error)
      if (exitCode !== EXIT.unreachable || performance.now() >= until) throw error
      if (!hasNoted) cli.output.note(`${message}; asking again`)
      hasNoted = true
      await sleep(PAUSE_MS, undefined, { signal: cli.signal })
    }
  }
}
