// Waits at start for servers that are not running yet.

import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../../engine/ports/fault.ts'
import { API_LIMITS } from '../../limits.ts'
import type { Logger } from '../../logger.ts'

/** Retries `open` until it succeeds. Each new reason for waiting is logged once. Faults that are not retryable are
 *  thrown. */
export async function waitForServer<Opened>(
  open: () => Promise<Opened>,
  {
    logger,
    retryMs = API_LIMITS.serverRetryMs,
  }: { readonly logger: Pick<Logger, 'warn'>; readonly retryMs?: number },
): Promise<Opened> {
  for (let lastReason = ''; ; await sleep(retryMs)) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof Fault && error.retryable)) throw error
      if (error.message !== lastReason)
        logger.warn({ reason: error.message }, 'waiting for a server; retrying until it answers')
      lastReason = error.message
    }
  }
}

/** Devices may connect before ClickHouse responds. Each reason for the delay is logged once. */
export function warnOfClickHouse(logger: Pick<Logger, 'warn'>): (error: Error) => void {
  let logged = ''
  return ({ message }) => {
    if (message !== logged)
      logger.warn({ reason: message }, 'waiting for ClickHouse; telemetry stays in the log until it answers')
    logged = message
  }
}
