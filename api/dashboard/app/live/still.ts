import { useRef } from 'preact/hooks'
import { isPaused } from './live.ts'

/** The newest value, but while the page is paused the one that it had when the pause began. */
export function useStill<Value>(newest: Value): Value {
  const shown = useRef(newest)
  if (!isPaused.value) shown.current = newest
  return shown.current
}
