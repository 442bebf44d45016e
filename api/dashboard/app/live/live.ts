// The page's end of the socket: subscriptions of mounted views, and how fresh what they show is.
import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SocketProblem } from '../../../../schemas/ws.ts'
import { reconnectsCount } from '../data/reconnects.ts'
import { accessToken, heldToken, tokenInstead } from '../data/session.ts'
import { noteClock } from '../words/time.ts'
import { applyHeld, takeFleet } from './fleet-index.ts'
import type { Batch, FromWorker, ToWorker, Watch } from './messages.ts'
import { fleetPaceMs, isThrifty } from './thrift.ts'
import workerUrl from './worker.ts?worker&url'

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** The connection stands, but something should have come by now. */
  | { readonly state: 'silent'; readonly since: number }
  /** The times are those of the browser's clock. */
  | { readonly state: 'away'; readonly since: number; readonly retryAt: number }
  | { readonly state: 'closed'; readonly reason: 'forbidden' | 'too-many' }

export const connection = signal<Connection>({ state: 'connecting' })
/** The browser says it when the page is loaded; not every one does. */
export const isThriftyLine = isThrifty(navigator)
/** How many values were left out since the page was loaded. */
export const droppedCount = signal(0)
/** The person stopped live updates with `.`: nothing on the page moves by itself (WCAG 2.2.2). */
export const isPaused = signal(false)

interface Watcher {
  readonly onBatch: (batch: Batch) => void
  readonly onRefused: ((problem: SocketProblem) => void) | undefined
}

const watchers = new Map<string, Watcher>()
let worker: Worker | undefined
let ids = 0
/** A token without the right to see live updates is replaced once, not for ever. */
let isRightAskedFor = false

const say = (message: ToWorker) => worker?.postMessage(message)

/** Begins to talk to the service. Called once, with the first login. */
export function goLive(): void {
  if (worker !== undefined) return
  worker = new Worker(trusted(workerUrl), { type: 'module', name: 'fleet-live' })
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => take(data)
  const tellHidden = () => say({ kind: 'hidden', isHidden: document.hidden })
  document.addEventListener('visibilitychange', tellHidden)
  tellHidden()
  addEventListener('online', retryNow)
  const held = heldToken()
  if (held !== undefined) say({ kind: 'token', token: held })
  say({
    kind: 'follow-fleet',
    url: `${location.origin}/api/v1/fleet/index`,
    paceMs: fleetPaceMs(isThriftyLine),
    isThrifty: isThriftyLine,
  })
  effect(() => {
    if (!isPaused.value) applyHeld()
  })
  say({ kind: 'open', url: `${location.origin.replace(/^http/, 'ws')}/ws` })
}

export function retryNow(): void {
  say({ kind: 'retry' })
}

/** Subscribes while the component lives. A change of what is watched subscribes anew. */
export function useWatch(
  watch: Watch | undefined,
  onBatch: (batch: Batch) => void,
  onRefused?: (problem: SocketProblem) => void,
): void {
  const key = watch === undefined ? undefined : JSON.stringify(watch)
  useEffect(() => {
    if (watch === undefined) return
    return subscribe(watch, { onBatch, onRefused })
    // Equal subscriptions have an equal text; the callbacks are those of the first.
  }, [key])
}

/** Gives the function that ends it. */
function subscribe(watch: Watch, watcher: Watcher): () => void {
  ids += 1
  const id = `w${ids}`
  watchers.set(id, watcher)
  say({ kind: 'watch', id, watch })
  return () => {
    watchers.delete(id)
    say({ kind: 'unwatch', id })
  }
}

function take(message: FromWorker): void {
  switch (message.kind) {
    case 'live':
      if (connection.peek().state === 'away') reconnectsCount.value += 1
      connection.value = { state: 'live' }
      isRightAskedFor = false
      break
    case 'silent':
      connection.value = { state: 'silent', since: Date.now() - message.forMs }
      break
    case 'away': {
      const before = connection.peek()
      const since = before.state === 'away' ? before.since : Date.now()
      connection.value = { state: 'away', since, retryAt: Date.now() + message.retryInMs }
      break
    }
    case 'closed':
      connection.value = { state: 'closed', reason: message.reason }
      // The role may have changed, or the account have ended: a new token tells which.
      if (message.reason === 'forbidden' && !isRightAskedFor) {
        isRightAskedFor = true
        void giveToken(true)
      }
      break
    case 'token-wanted':
      void giveToken(message.isRefused)
      break
    case 'batch':
      if (message.newestTs !== undefined) noteClock(Date.parse(message.newestTs))
      for (const batch of message.batches) {
        droppedCount.value += batch.dropped
        watchers.get(batch.id)?.onBatch(batch)
      }
      say({ kind: 'taken' })
      break
    case 'fleet-index':
    case 'fleet-names':
    case 'fleet-deltas':
    case 'fleet-failed':
      takeFleet(message, isPaused.peek())
      break
    case 'refused':
      watchers.get(message.id)?.onRefused?.(message.problem)
      break
  }
}

async function giveToken(isRefused: boolean): Promise<void> {
  const held = heldToken()
  // A service that is away answers nothing; the worker asks again when it tries the next time.
  const token = await (isRefused && held !== undefined ? tokenInstead(held) : accessToken()).catch(
    () => undefined,
  )
  if (token !== undefined) say({ kind: 'token', token })
}

/** The policy of the page takes the address of a script from this function only, and of this file only. */
function trusted(address: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const policy = trustedTypes?.createPolicy('fleet', {
    createScriptURL: (given) => {
      if (given !== address) throw new TypeError('only the worker of the dashboard may be started')
      return given
    },
  })
  // The type of `Worker` knows texts only.
  return (policy?.createScriptURL(address) ?? address) as string
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (given: string) => string },
  ): { createScriptURL(given: string): unknown }
}
