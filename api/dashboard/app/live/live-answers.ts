// Answers that are asked for again when the socket tells of a change, and once when it begins to: they may be older than its
// first word. Many events in one second ask once, and those of a pause when the page goes on.
import { useEffect, useRef } from 'preact/hooks'
import type { OperationId } from '../../../../schemas/client/calls.ts'
import { may } from '../data/access.ts'
import { refreshAnswers } from '../data/answers.ts'
import { isPaused, useWatch } from './live.ts'
import type { Watch } from './messages.ts'

const PAUSE_MS = 1000

export function useLiveAnswers(watch: Watch | undefined, ids: readonly OperationId[]): void {
  const timer = useRef<number | undefined>(undefined)
  const isOutdated = useRef(false)
  const isStill = isPaused.value
  useEffect(() => () => clearTimeout(timer.current), [])
  // A channel is open to the same roles as the answers that it renews.
  useWatch(watch === undefined || !ids.some(may) ? undefined : { snapshot: false, ...watch }, () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      if (isPaused.peek()) isOutdated.current = true
      else refreshAnswers(...ids)
    }, PAUSE_MS)
  })
  useEffect(() => {
    if (isStill || !isOutdated.current) return
    isOutdated.current = false
    refreshAnswers(...ids)
  }, [isStill])
}
