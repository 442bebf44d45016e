// /dead-letters: messages that could not be processed (R10).
import { replayWay } from '../../engine/domain/replay-way.ts'
import { parseDeviceId, toIso, toMillis } from '../../schemas/ids.ts'
import {
  discardDeadLetter,
  listDeadLetters,
  replayDeadLetter,
  summarizeDeadLetters,
} from '../../schemas/operations/dead-letters.ts'
import { deadLetterBody } from '../bodies/dead-letter-body.ts'
import { answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { refused } from '../refusal.ts'
import { deadLetterBulkRoutes } from './dead-letters-bulk.ts'

export function deadLetterRoutes(services: Services): readonly Route[] {
  return [...readRoutes(services), ...oneRoutes(services), ...deadLetterBulkRoutes(services)]
}

function readRoutes({ engine }: Services): readonly Route[] {
  return [
    route(listDeadLetters, async ({ query, url }) => {
      const window = toWindow(query)
      const deviceId = parseDeviceId(query.device_id)
      // Text that is not a device id has no dead letters.
      if (query.device_id !== undefined && deviceId === undefined) return pageAnswer([], 0, window, url)
      const { letters, total } = await engine.deadLetters({
        offset: window.offset,
        limit: window.perPage,
        deviceId,
        reason: query.reason,
      })
      return pageAnswer(letters.map(deadLetterBody), total, window, url)
    }),
    route(summarizeDeadLetters, async ({ query }) => {
      const deviceId = parseDeviceId(query.device_id)
      const isNobody = query.device_id !== undefined && deviceId === undefined
      const reasons = isNobody ? [] : await engine.deadLetterReasons({ deviceId })
      const data = reasons.map(({ reason, count, devices, oldestAt, newestAt }) => ({
        ...{ reason, count, devices },
        oldest_at: toIso(toMillis(oldestAt)),
        newest_at: toIso(toMillis(newestAt)),
      }))
      return answer(200, { total: data.reduce((sum, { count }) => sum + count, 0), data })
    }),
  ]
}

function oneRoutes({ engine }: Services): readonly Route[] {
  return [
    route(replayDeadLetter, async ({ params }) => {
      const letter = await engine.deadLetter(params.letter_id)
      if (letter === undefined) return letterNotFound()
      if (replayWay(letter) === undefined) return refused('LETTER_NOT_REPLAYABLE')
      await engine.replayDeadLetters([letter])
      return answer(200, deadLetterBody(letter))
    }),
    route(discardDeadLetter, async ({ params }) => {
      const letter = await engine.deadLetter(params.letter_id)
      if (letter === undefined) return letterNotFound()
      await engine.discardDeadLetters([letter])
      return answer(204, undefined)
    }),
  ]
}

const letterNotFound = () => refused('NOT_FOUND', { message: 'no such dead letter' })
