// Who is logged in. The access token lives in this module alone; the refresh token is a cookie that scripts cannot read.
// All tabs share one session: one of them renews it, and the others hear of it.
import { signal } from '@preact/signals'
import type { Me } from '../../../../schemas/auth.ts'
import type { Problem } from '../../../../schemas/problem.ts'
import { noteClock } from '../words/time.ts'
import { openChannel, Turns } from './turns.ts'

const PATH = '/api/v1/auth/session'
/** A token is renewed this long before it ends. */
const LEEWAY_MS = 10_000

interface TokenGrant {
  readonly access_token: string
  readonly expires_in: number
  readonly user: Me
}

/** Undefined until it is known, null without a login. */
export const user = signal<Me | null | undefined>(undefined)
/** The session ended by itself while the page was in use: the login is shown over the page. */
export const isSessionOver = signal(false)

/** Says that there may be a session, so that nobody is asked for one who has none. It is no secret. */
const MARK = 'fleet-has-session'

let token: string | undefined
let endsAt = 0
let renewal: Promise<string | undefined> | undefined

type TabMessage = { readonly kind: 'granted'; readonly granted: TokenGrant } | { readonly kind: 'ended' }
/** Without it each tab renews for itself. */
const tabs = openChannel('fleet-session')
if (tabs !== undefined)
  tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind === 'granted') take(data.granted)
    else drop()
  }

/** The token at hand, or a new one if it is about to end. Undefined without a login. */
export async function accessToken(): Promise<string | undefined> {
  return token !== undefined && performance.now() < endsAt - LEEWAY_MS ? token : await renew()
}

/** Replaces a token that the service refused. */
export async function tokenInstead(refused: string): Promise<string | undefined> {
  return token !== undefined && token !== refused ? token : await renew(refused)
}

export const heldToken = () => token

/** Undefined when the cookie is missing or no longer good. */
export async function renew(old: string | undefined = token): Promise<string | undefined> {
  renewal ??= inTurn(async () => {
    // Another tab may have renewed while this one waited for its turn.
    if (token !== undefined && token !== old) return token
    const granted = hasMark() ? await post(`${PATH}/refresh`, {}) : undefined
    // A login that went on meanwhile counts, not the end of the session before it.
    if (granted === undefined && token !== undefined && token !== old) return token
    if (granted === undefined) {
      if (user.peek() != null) isSessionOver.value = true
      else user.value = null
      token = undefined
      mark(false)
      return undefined
    }
    accept(granted)
    return granted.access_token
  }).finally(() => {
    renewal = undefined
  })
  return await renewal
}

export interface LoginForm {
  readonly email: string
  readonly password: string
  readonly remember: boolean
}

/** Throws the service's problem. */
export async function logIn(form: LoginForm | { readonly ticket: string }): Promise<void> {
  // In turn, because a refused renewal takes the cookie back, and must not take the new one.
  const granted = await inTurn(() => post(PATH, form, true))
  if (granted !== undefined) accept(granted)
}

export async function logOut(): Promise<void> {
  const headers = new Headers(token === undefined ? [] : [['authorization', `Bearer ${token}`]])
  await fetch(PATH, { method: 'DELETE', headers }).catch(() => undefined)
  tabs?.postMessage({ kind: 'ended' } satisfies TabMessage)
  drop()
}

function accept(granted: TokenGrant): void {
  take(granted)
  tabs?.postMessage({ kind: 'granted', granted } satisfies TabMessage)
}

function take({ access_token, expires_in, user: me }: TokenGrant): void {
  const before = user.peek()
  if (before != null && before.id !== me.id) {
    // What the page has, it has of the person before.
    mark(true)
    if (location.pathname === '/login') location.assign('/')
    else location.reload()
    return
  }
  token = access_token
  endsAt = performance.now() + expires_in * 1000
  user.value = me
  isSessionOver.value = false
  mark(true)
}

function mark(hasSession: boolean): void {
  try {
    if (hasSession) localStorage.setItem(MARK, '1')
    else localStorage.removeItem(MARK)
  } catch {
    // Without storage the service is asked each time.
  }
}

function hasMark(): boolean {
  try {
    return localStorage.getItem(MARK) === '1'
  } catch {
    return true
  }
}

/** A load is the one sure way to empty every cache, the worker and the index. */
function drop(): void {
  token = undefined
  mark(false)
  location.assign('/login')
}

export class LoginRefusal extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

async function post(path: string, body: object, mustSucceed = false): Promise<TokenGrant | undefined> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  noteClock(Date.parse(response.headers.get('date') ?? ''))
  if (response.ok) return (await response.json()) as TokenGrant
  if (mustSucceed) throw new LoginRefusal((await response.json()) as Problem)
  if (response.status >= 500 || response.status === 429)
    throw new Error(`the session cannot be renewed: ${response.status}`)
  return undefined
}

let turns: Turns | undefined

/** One tab after the other. A browser without a channel, too, has to do with the service's leeway. */
function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
  if ('locks' in navigator) return navigator.locks.request('fleet-session', work)
  const channel = turns === undefined ? openChannel('fleet-session-turns') : undefined
  if (channel !== undefined) turns = new Turns(channel)
  return turns === undefined ? work() : turns.run(work)
}
