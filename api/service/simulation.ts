// Runs simulated devices next to the service, for `npm start -- --simulate 25`.
import type { Users } from '../../engine/ports/users.ts'
import { Millis } from '../../schemas/ids.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Logger } from '../logger.ts'
import type { BannerFacts } from './banner.ts'
import { systemClock } from './system-clock.ts'

/** Aborting the signal ends a start that is under way. */
export async function startSimulation(parts: {
  users: Users
  tokens: Tokens
  logger: Logger
  facts: BannerFacts
  signal: AbortSignal
}): Promise<() => Promise<void>> {
  const { users, tokens, logger, facts, signal } = parts
  const admin = users.list().find(({ role, disabled }) => role === 'admin' && !disabled)
  if (admin === undefined) {
    logger.warn(
      {},
      'simulated devices are not started: no admin exists to register them; register an admin and restart',
    )
    return async () => {}
  }
  const at = Millis(Math.max(systemClock.now(), admin.tokensValidFrom))
  const { token } = await tokens.issueAccess({ userId: admin.id, at })
  const { simulate } = await import('../../engine/edge/simulator/simulate.ts')
  const { builtIn } = await import('../../engine/edge/simulator/scenario/built-in.ts')
  const { openFilesMax } = await import('../../engine/edge/simulator/fleet/sockets.ts')
  const { httpUrl, mqttUrl, simulated } = facts
  const log = (fields: Readonly<Record<string, unknown>>, text: string) => logger.info(fields, text)
  // Both ends of each connection are in this process, so each takes two open files.
  const isViaGateways = 2 * simulated + FILES_SPARE > openFilesMax()
  const scenario = builtIn({ count: simulated, seed: 1, isViaGateways })
  const simulation = await simulate({ httpUrl, mqttUrl, token, scenario, log, signal }).catch(
    (error: unknown) => {
      if (signal.aborted) return undefined
      throw error
    },
  )
  return async () => simulation?.stop()
}

/** Open files reserved for the service itself and for requests to it. */
const FILES_SPARE = 2_000
