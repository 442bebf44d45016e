// What a request with an Idempotency-Key does happens once, however often it is sent within a day.
//
// P1. The answer is kept before it is sent, so that a repeat is answered the same, also after a restart.
// P2. It is kept sealed with the caller's own key, of which only a hash is kept: an answer may hold a token.
// P3. If the service dies after the deed and before P1, the repeat does it again; so what it makes has an id that
//     follows from the key, and whoever makes it takes the second time for the first.
// P4. It runs at one place at a time, over all nodes: whoever begins says so first, and when it ended without an answer.
// P5. Only success is kept: what was refused changed nothing and is judged anew.
import { createHash } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { KeptAnswer, KeptAnswers } from '../../engine/ports/answers.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { Millis } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { sealed, sealingKey, unsealed } from '../sealing.ts'
import type { Answer, FileAnswer } from './answer.ts'
import { pathOf } from './problems.ts'

/** A request that may be a repeat. */
export interface RepeatableRequest {
  readonly user: { readonly id: string }
  readonly method: string
  readonly url: string
  readonly query: unknown
  readonly body: unknown
  header(name: string): string | undefined
}

/** A request's key, told apart from the same key of other users. */
export interface RepeatKey {
  readonly kind: 'key'
  readonly id: string
  readonly secret: string
  readonly fingerprint: string
}

type Found = { readonly kind: 'repeat'; readonly answer: Answer } | Refusal
export type Recalled = { readonly kind: 'new' } | Found

type Result = Answer | FileAnswer | Refusal

export interface Repeats {
  /** Undefined without a key. */
  keyOf(request: RepeatableRequest): RepeatKey | Refusal | undefined
  recall(key: RepeatKey): Promise<Recalled>
  keep(key: RepeatKey, answer: Answer): Promise<void>
  /** Runs the request, or answers as when it ran. A file is sent anew. */
  once(key: RepeatKey, run: () => Promise<Result>): Promise<Result>
}

const HEADER = 'idempotency-key'
const VISIBLE = /^[\x21-\x7e]+$/
export const REPLAYED = { 'idempotency-replayed': 'true' } as const

export function createRepeats({
  answers,
  clock,
}: {
  readonly answers: KeptAnswers
  readonly clock: Clock
}): Repeats {
  function recalled(key: RepeatKey, kept: KeptAnswer): Found {
    if (kept.fingerprint !== key.fingerprint) return reused()
    return { kind: 'repeat', answer: parseAnswer(unsealed(kept.sealed, keyFor(key))) }
  }

  async function keep(key: RepeatKey, answer: Answer): Promise<void> {
    const { id, fingerprint } = key
    const now = clock.now()
    const keptUntil = Millis(now + LIMITS.idempotencyKeyMs)
    await answers.put({ id, fingerprint, keptUntil, sealed: sealed(answerText(answer), keyFor(key)) }, now)
  }

  return {
    keyOf(request) {
      const secret = request.header(HEADER)
      if (secret === undefined) return undefined
      if (!VISIBLE.test(secret) || secret.length > LIMITS.idempotencyKeyCharsMax) return unreadable()
      const id = hashOf(`${request.user.id} ${secret}`)
      return { kind: 'key', id, secret, fingerprint: fingerprintOf(request) }
    },

    async recall(key) {
      const found = await answers.find(key.id, clock.now())
      if (found.kind === 'full') return noRoom()
      return found.kind === 'none' ? { kind: 'new' } : recalled(key, found.answer)
    },

    keep,

    async once(key, run) {
      const begun = await answers.begin(key.id, clock.now())
      if (begun.kind === 'running') return inUse()
      if (begun.kind === 'full') return noRoom()
      if (begun.kind === 'kept') return again(recalled(key, begun.answer))
      let isKept = false
      try {
        const result = await run()
        if (result.kind === 'answer') {
          await keep(key, result)
          isKept = true
        }
        return result
      } finally {
        if (!isKept) await answers.giveUp(key.id, begun.until)
      }
    },
  }
}

function again(recalled: Found): Answer | Refusal {
  if (recalled.kind === 'refused') return recalled
  const { headers } = recalled.answer
  return { ...recalled.answer, headers: { ...headers, ...REPLAYED }, noted: { replayed: true } }
}

const ID_CHARS = 26

/** By P3; without a key a new one each time. */
export function idFor(key: Pick<RepeatKey, 'id'> | undefined, prefix: string, ids: Ids): string {
  if (key === undefined) return ids.next(prefix)
  return `${prefix}${createHash('sha256').update(`${prefix} ${key.id}`).digest('hex').slice(0, ID_CHARS)}`
}

/** Of one of many things that one request asks for: the same in the same request only. */
export function partOf({ id }: Pick<RepeatKey, 'id'>, part: unknown): Pick<RepeatKey, 'id'> {
  return { id: hashOf(`${id} ${JSON.stringify(sorted(part))}`) }
}

/** How long the caller waits for the answer makes no other request. */
function fingerprintOf({ method, url, query, body }: RepeatableRequest): string {
  const { wait: _, ...asked } = Object(query)
  return hashOf(JSON.stringify([method, pathOf(url), sorted(asked), sorted(body)]))
}

/** The order of its fields makes no other request. The depth of a body is bounded where it is read. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner)])
}

/** by P2 */
function keyFor({ id, secret }: RepeatKey): Uint8Array {
  return sealingKey({ secret, id, use: 'fleet kept answer' })
}

function answerText({ status, body, headers }: Answer): string {
  return JSON.stringify({ status, body, headers })
}

function parseAnswer(text: string): Answer {
  // Written by `answerText`.
  const answer = JSON.parse(text) as Pick<Answer, 'status' | 'body' | 'headers'>
  return { kind: 'answer', ...answer }
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')

const unreadable = () =>
  refused('BAD_REQUEST', {
    message: `Idempotency-Key must be 1 to ${LIMITS.idempotencyKeyCharsMax} visible characters without blanks`,
  })
const reused = () =>
  refused('IDEMPOTENCY_KEY_REUSED', { message: 'this Idempotency-Key came with another request before' })
const inUse = () => refused('IDEMPOTENCY_KEY_IN_USE', { retry_after_sec: 1 })
const noRoom = () =>
  refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many requests with an Idempotency-Key are kept; send it without one',
    retry_after_sec: API_LIMITS.keptAnswersRetrySec,
  })
