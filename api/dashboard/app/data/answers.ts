// Answers of the service as signals, one entry for an operation and its arguments. Views that ask for the same share one
// request. Data that was true stays while it is asked for again, and when that fails (D11).
import { type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { CallOf, OperationId, Operations, ReplyOf } from '../../../../schemas/client/calls.ts'
import { LIMITS } from '../limits.ts'
import { fleet } from './client.ts'
import { type SharedRequest, sharedRequest } from './shared-request.ts'

export interface Answer<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isLoading: boolean
  /** When the data came, by the browser's clock. */
  readonly at: number
}

interface Entry {
  readonly answer: Signal<Answer<unknown>>
  readonly request: SharedRequest
  readonly isFixed: boolean
}

const NOTHING: Answer<never> = { data: undefined, error: undefined, isLoading: false, at: 0 }
const entries = new Map<string, Entry>()

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
  { everyMs, isWanted = true, isFixed = false }: AskOptions = {},
): LiveAnswer<ReplyOf<Operations[Id]>> {
  const key = `${id} ${JSON.stringify(call)}`
  const entry = useMemo(() => entryOf(key, id, { call, isFixed }), [key])
  useEffect(() => {
    if (!isWanted || (isFixed && entry.answer.peek().data !== undefined)) return
    void entry.request.ask()
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) void entry.request.ask()
    }, everyMs)
    return () => clearInterval(timer)
  }, [entry, isWanted, everyMs])
  // The entry belongs to this operation, whose answers have this type.
  const answer = entry.answer.value as Answer<ReplyOf<Operations[Id]>>
  return { ...answer, operation: id, reload: () => void entry.request.ask() }
}

/** Asks again for all answers of these operations that are on the page: after a write, what it changed. */
export function refreshAnswers(...ids: readonly OperationId[]): void {
  for (const [key, { request, answer, isFixed }] of entries) {
    const isAsked = answer.peek() !== NOTHING
    const isFinal = isFixed && answer.peek().data !== undefined
    if (!isAsked || isFinal || !ids.some((id) => key.startsWith(`${id} `))) continue
    if (watched.has(key)) void request.askAnew()
    else answer.value = NOTHING
  }
}

const watched = new Map<string, number>()

function entryOf(
  key: string,
  id: OperationId,
  { call, isFixed }: { readonly call: object; readonly isFixed: boolean },
): Entry {
  const found = entries.get(key)
  if (found !== undefined) {
    // The newest is last, so that the oldest falls out first.
    entries.delete(key)
    entries.set(key, found)
    return found
  }
  const answer = signal<Answer<unknown>>(NOTHING, {
    watched: () => watched.set(key, 1),
    unwatched: () => watched.delete(key),
  })
  const method = fleet[id] as (given: object) => Promise<unknown>
  const request = sharedRequest({
    load: () => method(call),
    starts: () => {
      answer.value = { ...answer.peek(), isLoading: true }
    },
    succeeds: (data) => {
      answer.value = { data, error: undefined, isLoading: false, at: Date.now() }
    },
    fails: (error) => {
      answer.value = { ...answer.peek(), error, isLoading: false }
    },
  })
  const entry = { answer, request, isFixed }
  entries.set(key, entry)
  for (const old of entries.keys()) {
    if (entries.size <= LIMITS.queryCacheEntriesMax) break
    if (!watched.has(old)) entries.delete(old)
  }
  return entry
}
