// Loading a fleet leaves more garbage than devices, and makes V8's young generation grow to its limit. Nothing shrinks
// it while a service is mostly idle: a collection at rest does, once, some time after the load.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 gives memory back only where little was allocated lately. */
export const REST_AFTER_LOAD_MS = 10_000

export function exposedGc(): () => void {
  setFlagsFromString('--expose-gc')
  // The context's global `gc`, which only exists with the flag above.
  return runInNewContext('gc') as () => void
}
