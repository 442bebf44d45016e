// What this process tells V8's garbage collector.
//
// Messages pass through memory outside the heap, which V8 counts as a heap that grows fast. By itself it marked the whole
// heap up to eight times a second at full load. If the heap may grow to three times its size between two such collections,
// a message costs an eighth less CPU time, and the process needs a tenth more memory.
//
// Loading a fleet leaves more garbage than devices and makes V8's young generation grow to its limit. While a service is
// mostly idle, nothing shrinks it again. One collection at rest, some time after the load, does.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** V8 gives memory back only where little was allocated lately. */
export const REST_AFTER_LOAD_MS = 10_000

/** `minor` collects only what was allocated lately. It takes about a millisecond. */
export type Gc = (options?: { readonly type: 'minor' }) => void

const HEAP_GROWING_PERCENT = 200

/** Applies to all threads. */
export function collectLessOften(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`)
}

let exposed: Gc | undefined

export function exposedGc(): Gc {
  if (exposed === undefined) {
    setFlagsFromString('--expose-gc')
    // The flag above makes the global `gc` exist in new contexts.
    exposed = runInNewContext('gc') as Gc
  }
  return exposed
}
