import { LIMITS } from '../../limits.ts'

/** How long before the end of its credentials a device is told. */
export function warnMsOf(tokenSec: number | undefined): number {
  return Math.min(LIMITS.tokenWarnMsMax, (tokenSec ?? Number.POSITIVE_INFINITY) * 100)
}
