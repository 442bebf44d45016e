import { LIMITS } from '../../limits.ts'

/** How long before its credentials end a device is warned. */
export function warnBeforeMs(tokenSec: number | undefined): number {
  return Math.min(LIMITS.tokenWarnMsMax, (tokenSec ?? Number.POSITIVE_INFINITY) * 100)
}
