// Answers of the service as signals, one entry for an operation and its arguments. Views that ask for the same share one
// request. Data that was true stays while it is asked for again, and when that fails (D11).
import { useEffect, useMemo } from 'preact/hooks'
import type { CallOf, OperationId, Operations, ReplyOf } from '../../../../schemas/client/calls.ts'
import { LIMITS } from '../limits.ts'
import { may } from './access.ts'
import { type Answer, CachedAnswers } from './cached-answers.ts'
import { fleet } from './client.ts'
import { reconnectsCount } from './reconnects.ts'

const cached = new CachedAnswers({
  entriesMax: LIMITS.queryCacheEntriesMax,
  charsMax: LIMITS.queryCacheCharsMax,
})

export interface AskOptions {
  /** Asks again this often while the page is seen. */
  readonly everyMs?: number
  /** False asks nothing yet. */
  readonly isWanted?: boolean
  /** What it answers never changes, so one answer is enough. */
  readonly isFixed?: boolean
}

export interface LiveAnswer<Data> extends Answer<Data> {
  readonly operation: OperationId
  readonly reload: () => void
}

/** The answer to a call, kept up while the component lives. */
export function useAnswer<Id extends OperationId>(
  id: Id,
  call: CallOf<Operations[Id]>,
  { everyMs, isWanted: isAskedFor = true, isFixed = false }: AskOptions = {},
): LiveAnswer<ReplyOf<Operations[Id]>> {
  // What the role may not ask is never asked: there is no answer to it but a refusal.
  const isWanted = isAskedFor && may(id)
  const key = `${id} ${JSON.stringify(call)}`
  const entry = useMemo(() => {
    const method = fleet[id] as (given: object) => Promise<unknown>
    return cached.at(key, { operation: id, load: () => method(call), isFixed })
  }, [key])
  useEffect(() => entry.use(), [entry])
  useEffect(() => {
    if (!isWanted || entry.isFinal) return
    entry.ask()
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) entry.ask()
    }, everyMs)
    return () => clearInterval(timer)
  }, [entry, isWanted, everyMs])
  const reconnects = reconnectsCount.value
  useEffect(() => {
    if (isWanted && entry.answer.peek().error !== undefined) entry.ask()
  }, [reconnects])
  // The entry belongs to this operation, whose answers have this type.
  const answer = entry.answer.value as Answer<ReplyOf<Operations[Id]>>
  return { ...answer, operation: id, reload: () => entry.ask() }
}

/** Asks again for all answers of these operations that are on the page: after a write, what it changed. */
export function refreshAnswers(...ids: readonly OperationId[]): void {
  cached.outdate(ids)
}
