// The socket of the page (D5): frames are read and decoded here, and the page gets one batch each 100 ms, but never a second one
// before it took the first: a page that is slow gets the newest values later, not a queue. While the tab is hidden nothing
// is handed over; after five minutes most subscriptions end until somebody looks again.
import { FLEET_ID, FleetFeed } from './fleet-feed.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { nextPauseMs } from './pauses.ts'
import { type EventFrame, Subscriptions } from './subscriptions.ts'
import { judgeSilence } from './vigil.ts'

const BATCH_MS = 100
const LOOK_EVERY_MS = 1000
const REST_AFTER_MS = 5 * 60_000

let url = ''
let token: string | undefined
let socket: WebSocket | undefined
let isAuthenticated = false
let isHidden = false
/** The page has what it was given last. */
let isTaken = true
/** There is nothing to connect with until the page gives a token. */
let isTokenAwaited = false
let isSilent = false
let heardAt = 0
let tries = 0
let newestTs: string | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let rest: ReturnType<typeof setTimeout> | undefined

const say = (message: FromWorker) => postMessage(message)
const send = (frame: object) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
}

const fleetFeed = new FleetFeed({ send, say, token: () => token })
const subscriptions = new Subscriptions(send)

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  switch (data.kind) {
    case 'open':
      url = data.url
      connect()
      break
    case 'token':
      token = data.token
      if (socket?.readyState === WebSocket.OPEN) send({ type: 'auth', token })
      else if (retry === undefined || isTokenAwaited) connect()
      break
    case 'follow-fleet':
      fleetFeed.follow(data)
      if (isAuthenticated) fleetFeed.begin()
      break
    case 'watch':
      subscriptions.watch(data.id, data.watch)
      break
    case 'unwatch':
      subscriptions.unwatch(data.id)
      break
    case 'hidden':
      hide(data.isHidden)
      break
    case 'taken':
      isTaken = true
      break
    case 'retry':
      connect()
      break
  }
})

setInterval(() => {
  if (!isHidden && isTaken) handOver()
}, BATCH_MS)
setInterval(look, LOOK_EVERY_MS)

function hide(hidden: boolean): void {
  isHidden = hidden
  clearTimeout(rest)
  if (hidden) rest = setTimeout(() => subscriptions.rest(true), REST_AFTER_MS)
  else subscriptions.rest(false)
}

function handOver(): void {
  const hasFleet = fleetFeed.handOver()
  const batches = subscriptions.handOver()
  if (!hasFleet && batches.length === 0) return
  isTaken = false
  say({ kind: 'batch', batches, newestTs })
  // An older one would not be the time of the service any more.
  newestTs = undefined
}

function look(): void {
  if (socket === undefined) return
  const silentMs = Date.now() - heardAt
  const judged = judgeSilence({ isOpen: isAuthenticated, silentMs })
  if (judged === 'dead') {
    // The browser may wait for the end of a dead line for minutes.
    const dead = socket
    closed(0)
    dead.close()
  } else if (judged === 'silent' && !isSilent) {
    isSilent = true
    say({ kind: 'silent', forMs: silentMs })
  }
}

function connect(): void {
  // A token may come before the address.
  if (url === '') return
  clearTimeout(retry)
  retry = undefined
  isTokenAwaited = token === undefined
  if (isTokenAwaited) {
    say({ kind: 'token-wanted', isRefused: false })
    // The page says nothing if it cannot get one now.
    retry = setTimeout(connect, nextPauseMs(0, tries, Math.random()))
    tries += 1
    return
  }
  if (socket !== undefined && socket.readyState <= WebSocket.OPEN) return
  const opened = new WebSocket(url)
  socket = opened
  heardAt = Date.now()
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
  isSilent = false
  subscriptions.lost()
  if (code === 4403) {
    say({ kind: 'closed', reason: 'forbidden' })
    return
  }
  if (code === 4401) {
    token = undefined
    say({ kind: 'token-wanted', isRefused: true })
  }
  const pauseMs = nextPauseMs(code, tries, Math.random())
  tries += 1
  // Other windows have to be closed first, so there is nothing to count down.
  if (code === 4429) say({ kind: 'closed', reason: 'too-many' })
  else say({ kind: 'away', retryInMs: pauseMs })
  retry = setTimeout(connect, pauseMs)
}

function take(text: string): void {
  heardAt = Date.now()
  if (isSilent) {
    isSilent = false
    say({ kind: 'live' })
  }
  // The service's own tests check its frames.
  const frame = JSON.parse(text) as EventFrame
  if (frame.type === 'auth_ok') authenticated()
  else if (frame.type === 'token_expiring') say({ kind: 'token-wanted', isRefused: true })
  else if (frame.id === FLEET_ID) fleetFeed.take(frame)
  else
    for (const id of subscriptions.take(frame))
      say({ kind: 'refused', id, problem: frame['problem'] as never })
  if (frame.type === 'event') newestTs = String(frame['ts'])
}

function authenticated(): void {
  tries = 0
  if (isAuthenticated) return
  isAuthenticated = true
  say({ kind: 'live' })
  fleetFeed.begin()
  subscriptions.connected()
}
