// Input from devices through the DDI: its schemas, and what it means for a job.
import { type Static, Type } from 'typebox'
import type { DdiAct } from '../../engine/domain/ota/ddi.ts'
import type { OtaWord } from '../../engine/domain/ota/ota-report.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { JsonObject } from '../../schemas/json.ts'

const EXECUTIONS = [
  ...(['closed', 'proceeding', 'canceled', 'scheduled', 'rejected', 'resumed', 'download'] as const),
  'downloaded',
] as const
type Execution = (typeof EXECUTIONS)[number]

const MODES = ['merge', 'replace', 'remove'] as const

const oneOf = <Word extends string>(words: readonly Word[]) => Type.Unsafe<Word>({ enum: words })

/** [hawkBit: DdiActionFeedback] `id`, `time` and unknown fields are ignored. */
export const FeedbackBody = Type.Object({
  status: Type.Object({
    execution: oneOf(EXECUTIONS),
    result: Type.Optional(
      Type.Object({
        finished: oneOf(['success', 'failure', 'none']),
        progress: Type.Optional(
          Type.Union([Type.Null(), Type.Object({ cnt: Type.Number(), of: Type.Optional(Type.Number()) })]),
        ),
      }),
    ),
    details: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
  }),
})

/** [hawkBit: DdiConfigData] Accepts the same names as hawkBit. */
export const ConfigBody = Type.Object({
  mode: Type.Optional(oneOf(MODES)),
  data: Type.Unsafe<Readonly<Record<string, string | number | boolean>>>({
    type: 'object',
    maxProperties: 500,
    propertyNames: { minLength: 1, maxLength: 128 },
    additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: 512 },
  }),
})

const WORDS: Readonly<Record<Exclude<Execution, 'closed'>, OtaWord>> = {
  download: 'downloading',
  downloaded: 'downloaded',
  scheduled: 'installing',
  resumed: 'installing',
  proceeding: 'installing',
  canceled: 'cancelled',
  rejected: 'deferred',
}

export function toReport({ status }: Static<typeof FeedbackBody>, number: number): DdiAct {
  const { result, details = [] } = status
  const { execution } = status
  const word =
    execution !== 'closed' ? WORDS[execution] : result?.finished === 'failure' ? 'failed' : 'succeeded'
  const message = details.join('; ').slice(0, LIMITS.otaErrorCharsMax)
  return {
    kind: 'report',
    number,
    word,
    progress: percentOf(result?.progress),
    error: word === 'failed' ? { code: 'FAILED', message } : undefined,
  }
}

/** Whether the device confirms that it stopped a cancelled job. */
export function isStopped({ status }: Static<typeof FeedbackBody>): boolean {
  return status.execution === 'closed' || status.execution === 'canceled'
}

export function toConfigure({ mode = 'merge', data }: Static<typeof ConfigBody>): DdiAct {
  const attributes: JsonObject = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, String(value)]),
  )
  const version = attributes['firmware_version'] ?? attributes['version']
  return {
    kind: 'configure',
    mode,
    attributes,
    version:
      mode === 'remove' || typeof version !== 'string' || version === '' ? undefined : version.slice(0, 128),
  }
}

/** hawkBit counts steps. Without their total number, the count says nothing about progress. */
function percentOf(progress: { readonly cnt: number; readonly of?: number } | null | undefined) {
  const { cnt = 0, of = 0 } = progress ?? {}
  return of > 0 ? Math.min(100, Math.max(0, Math.round((100 * cnt) / of))) : undefined
}
