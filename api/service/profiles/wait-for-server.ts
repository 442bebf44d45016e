// Servers may come up after this process, and come and go meanwhile: at the start it waits for them.

import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../../engine/ports/fault.ts'
import { API_LIMITS } from '../../limits.ts'
import type { Logger } from '../../logger.ts'

/** Opens what may not be there yet. Says once what it waits for, and again if that is something else; what trying again
 *  cannot mend is thrown. */
export async function waitForServer<Opened>(
  open: () => Promise<Opened>,
  {
    logger,
    retryMs = API_LIMITS.serverRetryMs,
  }: { readonly logger: Pick<Logger, 'warn'>; readonly retryMs?: number },
): Promise<Opened> {
  for (let said = ''; ; await sleep(retryMs)) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof Fault && error.retryable)) throw error
      if (error.message !== said) logger.warn({ reason: error.message }, 'waiting for a server')
      said = error.message
    }
  }
}

/** Devices are let in before ClickHouse answers. Each reason for the delay is logged once. */
export function warnOfClickHouse(logger: Pick<Logger, 'warn'>): (error: Error) => void {
  let logged = ''
  return ({ message }) => {
    if (message !== logged)
      logger.warn(
        { reason: message },
        'ClickHouse does not answer yet and is tried again; rows wait in the log',
      )
    logged = message
  }
}
