// Writes of a form: one at a time, with its outcome as signals. A failed write keeps the form, and repeating it does not
// do it twice, because its key stays until it succeeded or the form changed.
import { type Signal, useSignal } from '@preact/signals'

export interface Write<Given extends unknown[]> {
  readonly isUnderWay: Signal<boolean>
  readonly error: Signal<unknown>
  /** Resolves with whether it succeeded. */
  readonly run: (...given: Given) => Promise<boolean>
}

export function useWrite<Given extends unknown[]>(work: (...given: Given) => Promise<unknown>): Write<Given> {
  const isUnderWay = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const run = async (...given: Given) => {
    if (isUnderWay.peek()) return false
    isUnderWay.value = true
    error.value = undefined
    try {
      await work(...given)
      return true
    } catch (reason) {
      error.value = reason
      return false
    } finally {
      isUnderWay.value = false
    }
  }
  return { isUnderWay, error, run }
}

/** A key that makes a POST safe to repeat. */
export const newIdempotencyKey = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
