// A request with an Idempotency-Key takes effect once, however often it is sent within a day.
//
// P1. The answer is stored before it is sent, so a repeat gets the same answer even after a restart.
// P2. An answer may hold a token, so it is stored encrypted under the caller's key. Of that key only a hash is stored.
// P3. If the service dies after the change and before P1, a repeat runs again. So the ids of what it creates are
//     derived from the key, and the second creation is recognised as the first.
// - A request runs on one node at a time: a node announces its start, and also its end if there was no answer.
// - Only successes are stored. A refused request changed nothing, so a repeat is judged again.
import { createHash } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { IdempotencyStore, StoredAnswer } from '../../engine/ports/idempotency.ts'
import { Millis } from '../../schemas/ids.ts'
import { type Ids, idOfBytes } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { sealed, sealingKey, unsealed } from '../sealing.ts'
import type { Answer, FileAnswer, FirmwareFile } from './answer.ts'
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

/** The key of a request. Keys are separate for each user, even if their text is the same. */
export interface RepeatKey {
  readonly kind: 'key'
  readonly id: string
  readonly owner: string
  readonly secret: string
  readonly fingerprint: string
}

type RepeatedAnswer = { readonly kind: 'repeat'; readonly answer: Answer } | Refusal
export type RecallResult = { readonly kind: 'new' } | RepeatedAnswer

type Result = Answer | FileAnswer | FirmwareFile | Refusal

export interface Repeats {
  /** Undefined if the request has no key. */
  keyOf(request: RepeatableRequest): RepeatKey | Refusal | undefined
  recall(key: RepeatKey): Promise<RecallResult>
  store(key: RepeatKey, answer: Answer): Promise<void>
  /** Runs the request, or returns the stored answer. A file is generated again. */
  runOnce(key: RepeatKey, run: () => Promise<Result>): Promise<Result>
}

const HEADER = 'idempotency-key'
const VISIBLE = /^[\x21-\x7e]+$/
export const REPLAYED = { 'idempotency-replayed': 'true' } as const

export function createRepeats({
  answers,
  clock,
}: {
  readonly answers: IdempotencyStore
  readonly clock: Clock
}): Repeats {
  function toRepeatedAnswer(key: RepeatKey, stored: StoredAnswer): RepeatedAnswer {
    if (stored.fingerprint !== key.fingerprint) return keyReused()
    return { kind: 'repeat', answer: parseAnswer(unsealed(stored.sealed, sealingKeyOf(key))) }
  }

  async function store(key: RepeatKey, answer: Answer): Promise<void> {
    const { id, owner, fingerprint } = key
    const now = clock.now()
    const keptUntil = Millis(now + LIMITS.idempotencyKeyMs)
    const stored = {
      id,
      owner,
      fingerprint,
      keptUntil,
      sealed: sealed(answerText(answer), sealingKeyOf(key)),
    }
    await answers.put(stored, now)
  }

  return {
    keyOf(request) {
      const secret = request.header(HEADER)
      if (secret === undefined) return undefined
      if (!VISIBLE.test(secret) || secret.length > LIMITS.idempotencyKeyCharsMax) return malformedKey()
      const id = hashOf(`${request.user.id} ${secret}`)
      const owner = hashOf(`kept answers of ${request.user.id}`)
      return { kind: 'key', id, owner, secret, fingerprint: fingerprintOf(request) }
    },

    async recall(key) {
      const found = await answers.find(key, clock.now())
      if (found.kind === 'full') return storeFull()
      return found.kind === 'none' ? { kind: 'new' } : toRepeatedAnswer(key, found.answer)
    },

    store,

    async runOnce(key, run) {
      const begun = await answers.begin(key, clock.now())
      if (begun.kind === 'running') return keyInUse()
      if (begun.kind === 'full') return storeFull()
      if (begun.kind === 'kept') return toReplay(toRepeatedAnswer(key, begun.answer))
      let isStored = false
      try {
        const result = await run()
        if (result.kind === 'answer') {
          await store(key, result)
          isStored = true
        }
        return result
      } finally {
        if (!isStored) await answers.abandon(key.id, begun.until)
      }
    },
  }
}

function toReplay(repeated: RepeatedAnswer): Answer | Refusal {
  if (repeated.kind === 'refused') return repeated
  const { headers } = repeated.answer
  return { ...repeated.answer, headers: { ...headers, ...REPLAYED }, auditDetail: { replayed: true } }
}

/** An id derived from the key (P3), or a new id if there is no key. */
export function idFor(key: Pick<RepeatKey, 'id'> | undefined, prefix: string, ids: Ids): string {
  if (key === undefined) return ids.next(prefix)
  return idOfBytes(prefix, createHash('sha256').update(`${prefix} ${key.id}`).digest())
}

/** Creates something under the id for the key. Keys are remembered for a day. If the same text was a key longer ago, that id
 *  is of something else, which must not be taken for what is asked for now. `createdAt` is undefined for a refusal. */
export async function createFor<Outcome>(
  key: Pick<RepeatKey, 'id'> | undefined,
  { prefix, ids, clock }: { readonly prefix: string; readonly ids: Ids; readonly clock: Clock },
  {
    create,
    createdAt,
  }: {
    readonly create: (id: string) => Promise<Outcome>
    readonly createdAt: (outcome: Outcome) => number | undefined
  },
): Promise<Outcome> {
  const outcome = await create(idFor(key, prefix, ids))
  const at = createdAt(outcome)
  const isOld = at !== undefined && at + LIMITS.idempotencyKeyMs <= clock.now()
  return isOld ? await create(ids.next(prefix)) : outcome
}

/** The key of one part of a request that creates several things. The same part of the same request gets the same key. */
export function partKey({ id }: Pick<RepeatKey, 'id'>, part: unknown): Pick<RepeatKey, 'id'> {
  return { id: hashOf(`${id} ${JSON.stringify(sorted(part))}`) }
}

/** Leaves out `wait`, because a repeat may wait for a different time. */
function fingerprintOf({ method, url, query, body }: RepeatableRequest): string {
  const { wait: _, ...queryFields } = Object(query)
  return hashOf(JSON.stringify([method, pathOf(url), sorted(queryFields), sorted(body)]))
}

/** Sorts fields, because their order makes no difference. The depth was bounded when the body was read. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner)])
}

/** The key that answers are encrypted under (P2). */
function sealingKeyOf({ id, secret }: RepeatKey): Uint8Array {
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

const malformedKey = () =>
  refused('BAD_REQUEST', {
    message: `Idempotency-Key must be 1 to ${LIMITS.idempotencyKeyCharsMax} visible characters without blanks`,
  })
const keyReused = () =>
  refused('IDEMPOTENCY_KEY_REUSED', { message: 'this Idempotency-Key came with another request before' })
const keyInUse = () => refused('IDEMPOTENCY_KEY_IN_USE', { retry_after_sec: 1 })
const storeFull = () =>
  refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many answers to requests with an Idempotency-Key are kept; send it later, or without one',
    retry_after_sec: API_LIMITS.keptAnswersRetrySec,
  })
