// The socket of the page (D5): frames are read and decoded here, and the page gets one batch each 100 ms. While the tab is
// hidden nothing is handed over; what came is kept up to a bound per subscription, and what falls out is counted.
import { FLEET_ID, FleetFeed } from './fleet-feed.ts'
import type { Batch, FromWorker, LiveEvent, ToWorker, Watch } from './messages.ts'
import { nextPauseMs } from './pauses.ts'

const BATCH_MS = 100
/** How many events of a subscription wait for the page. The oldest go first. */
const EVENTS_MAX = 5000

interface WatchQueue {
  readonly watch: Watch
  events: LiveEvent[]
  dropped: number
}

const watches = new Map<string, WatchQueue>()
let url = ''
let token: string | undefined
let socket: WebSocket | undefined
let isAuthenticated = false
let isHidden = false
let tries = 0
let newestTs: string | undefined
let retry: ReturnType<typeof setTimeout> | undefined

const say = (message: FromWorker) => postMessage(message)
const send = (frame: object) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
}

const fleetFeed = new FleetFeed({ send, say, token: () => token })

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  switch (data.kind) {
    case 'open':
      url = data.url
      connect()
      break
    case 'token':
      token = data.token
      if (socket?.readyState === WebSocket.OPEN) send({ type: 'auth', token })
      else if (retry === undefined) connect()
      break
    case 'follow-fleet':
      fleetFeed.follow(data.url, data.paceMs)
      if (isAuthenticated) fleetFeed.begin()
      break
    case 'watch':
      watches.set(data.id, { watch: data.watch, events: [], dropped: 0 })
      if (isAuthenticated) subscribe(data.id, data.watch)
      break
    case 'unwatch':
      watches.delete(data.id)
      if (isAuthenticated) send({ type: 'unsubscribe', id: data.id })
      break
    case 'hidden':
      isHidden = data.isHidden
      break
    case 'retry':
      connect()
      break
  }
})

setInterval(() => {
  if (!isHidden) handOver()
}, BATCH_MS)

function handOver(): void {
  fleetFeed.handOver()
  const batches: Batch[] = []
  for (const [id, kept] of watches) {
    if (kept.events.length === 0 && kept.dropped === 0) continue
    batches.push({ id, events: kept.events, dropped: kept.dropped })
    kept.events = []
    kept.dropped = 0
  }
  if (batches.length > 0) say({ kind: 'batch', batches, newestTs })
}

function connect(): void {
  // A token may come before the address.
  if (url === '') return
  clearTimeout(retry)
  retry = undefined
  if (token === undefined) {
    say({ kind: 'token-wanted', isRefused: false })
    return
  }
  if (socket !== undefined && socket.readyState <= WebSocket.OPEN) return
  const opened = new WebSocket(url)
  socket = opened
  // The token goes in the first frame: an address would end up in logs.
  opened.onopen = () => opened.send(JSON.stringify({ type: 'auth', token }))
  opened.onmessage = ({ data }) => {
    if (socket === opened && typeof data === 'string') take(data)
  }
  opened.onclose = ({ code }) => {
    if (socket === opened) closed(code)
  }
}

function closed(code: number): void {
  socket = undefined
  isAuthenticated = false
  if (code === 4403 || code === 4429) {
    say({ kind: 'closed', reason: code === 4403 ? 'forbidden' : 'too-many' })
    if (code === 4403) return
  }
  if (code === 4401) {
    token = undefined
    say({ kind: 'token-wanted', isRefused: true })
  }
  const pauseMs = nextPauseMs(code, tries, Math.random())
  tries += 1
  say({ kind: 'away', retryInMs: pauseMs })
  retry = setTimeout(connect, pauseMs)
}

function subscribe(id: string, watch: Watch): void {
  send({ type: 'subscribe', id, snapshot: true, ...watch })
}

interface Frame {
  readonly type: string
  readonly id?: string
  readonly [member: string]: unknown
}

function take(text: string): void {
  // The service's own tests check its frames.
  const frame = JSON.parse(text) as Frame
  const kept = frame.id === undefined ? undefined : watches.get(frame.id)
  switch (frame.type) {
    case 'auth_ok':
      tries = 0
      if (isAuthenticated) break
      isAuthenticated = true
      say({ kind: 'live' })
      fleetFeed.begin()
      for (const [id, { watch }] of watches) subscribe(id, watch)
      break
    case 'token_expiring':
      say({ kind: 'token-wanted', isRefused: true })
      break
    case 'event':
      newestTs = String(frame['ts'])
      if (frame.id === FLEET_ID) fleetFeed.take(String(frame['event']), frame['data'])
      if (kept !== undefined) keep(kept, frame as unknown as LiveEvent)
      break
    case 'snapshot':
      // `data` is an entry, or a list of them.
      if (kept !== undefined)
        for (const data of [frame['data']].flat())
          keep(kept, { event: 'snapshot', ts: newestTs ?? '', data, isSnapshot: true })
      break
    case 'resync':
      if (frame.id === FLEET_ID) fleetFeed.resync()
      if (kept !== undefined) kept.dropped += Number(frame['dropped'])
      break
    case 'error':
      if (frame.id === FLEET_ID) fleetFeed.refused()
      else if (frame.id !== undefined)
        say({ kind: 'refused', id: frame.id, problem: frame['problem'] as never })
      break
  }
}

function keep(kept: WatchQueue, event: LiveEvent): void {
  kept.events.push(event)
  if (kept.events.length <= EVENTS_MAX) return
  // In steps, because removing the first of a long list copies the others.
  kept.dropped += EVENTS_MAX / 10
  kept.events.splice(0, EVENTS_MAX / 10)
}
