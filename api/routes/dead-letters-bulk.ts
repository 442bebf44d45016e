// POST /dead-letters/replay and /dead-letters/discard: many dead letters at once, the oldest first.
import { chunks } from '../../engine/domain/chunks.ts'
import { replayWay } from '../../engine/domain/replay-way.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { DeadLetter, DeadLetterFilter } from '../../engine/ports/store.ts'
import type { DeadLetterFilterBody } from '../../schemas/dead-letter.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { parseInstant } from '../../schemas/instant-text.ts'
import { discardDeadLetters, replayDeadLetters } from '../../schemas/operations/dead-letters.ts'
import { type Answer, answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

type Act = (letters: readonly DeadLetter[]) => Promise<void>

export function deadLetterBulkRoutes(services: Services): readonly Route[] {
  const { engine } = services
  let isUnderWay = false
  const many = async (
    { body, isDryRun }: { readonly body: DeadLetterFilterBody; readonly isDryRun: boolean },
    isFit: (letter: DeadLetter) => boolean,
    act: Act,
  ): Promise<Answer | Refusal> => {
    const filter = toFilter(services, body)
    if (filter === 'nobody') return outcome(isDryRun, { total: 0, done: 0 })
    if ('kind' in filter) return filter
    if (isUnderWay)
      return refused('RATE_LIMIT_EXCEEDED', {
        message: 'dead letters are being replayed or discarded; try again',
        retry_after_sec: API_LIMITS.retryAfterSec,
      })
    isUnderWay = true
    try {
      return outcome(
        isDryRun,
        await actOnAll(services, filter, { isFit, act: isDryRun ? async () => {} : act }),
      )
    } finally {
      isUnderWay = false
    }
  }
  return [
    route(replayDeadLetters, ({ query, body }) =>
      many(
        { body, isDryRun: query.dry_run === true },
        (letter) => replayWay(letter) !== undefined,
        (letters) => engine.replayDeadLetters(letters),
      ),
    ),
    route(discardDeadLetters, ({ query, body }) =>
      many(
        { body, isDryRun: query.dry_run === true },
        () => true,
        (letters) => engine.discardDeadLetters(letters),
      ),
    ),
  ]
}

function toFilter(
  { clock }: Services,
  { reason, device_id: text, before }: DeadLetterFilterBody,
): DeadLetterFilter | 'nobody' | Refusal {
  const deviceId = parseDeviceId(text)
  // Text that is not a device id has no dead letters.
  if (text !== undefined && deviceId === undefined) return 'nobody'
  const at = before === undefined ? undefined : parseInstant(before, clock.now())
  if (before !== undefined && at === undefined)
    return invalid('/before', { code: 'WRONG_FORMAT', message: 'must be an instant' })
  return { reason, deviceId, before: at }
}

interface Counts {
  readonly total: number
  readonly done: number
}

const READ_AT_ONCE = 500

/** Processes the present dead letters from the oldest to the newest. They are read first, because the list changes
 *  meanwhile, and a letter that fails again must not be retried. All letters that can be kept fit into 40 MiB. */
async function actOnAll(
  { engine }: Services,
  filter: DeadLetterFilter,
  { isFit, act }: { readonly isFit: (letter: DeadLetter) => boolean; readonly act: Act },
): Promise<Counts> {
  const found = new Map<string, DeadLetter>()
  for (let offset = 0; ; offset += READ_AT_ONCE) {
    const { letters } = await engine.deadLetters({ ...filter, offset, limit: READ_AT_ONCE })
    for (const letter of letters) found.set(letter.id, letter)
    if (letters.length < READ_AT_ONCE) break
  }
  const fit = [...found.values()].filter(isFit).reverse()
  for (const some of chunks(fit, LIMITS.replaysAtOnceMax)) await act(some)
  return { total: found.size, done: fit.length }
}

function outcome(isDryRun: boolean, { total, done }: Counts): Answer {
  const body = { dry_run: isDryRun, total, done, skipped: total - done }
  return { ...answer(200, body), auditDetail: body }
}
