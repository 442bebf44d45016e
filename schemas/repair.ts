// Bodies of /telemetry/repair: lost rows of ClickHouse, restored from the log.
import { type Static, Type } from 'typebox'
import { choice, Instant, instantText, object, orNull } from './json-schema.ts'

export const NewRepairBody = Type.Object(
  {
    from: Type.Optional(instantText('receive time of the first message. Default: the beginning of the log')),
    to: Type.Optional(instantText('receive time after the last message. Default: now')),
  },
  {
    title: 'NewRepair',
    additionalProperties: false,
    examples: [{ from: '2026-03-01T08:00:00Z', to: '2026-03-01T12:00:00Z' }],
  },
)

export const RepairBody = object('Repair', {
  id: Type.String(),
  status: choice(['running', 'done', 'failed']),
  from: orNull(Instant, { description: 'Null means the beginning of the log.' }),
  to: Instant,
  started_at: Instant,
  updated_at: Type.String({
    format: 'date-time',
    description:
      'Advances while the repair runs. If it is long ago, the process that ran the repair has died.',
    examples: ['2026-03-01T12:00:05.000Z'],
  }),
  log_from: orNull(Instant, {
    description: 'Receive time of the oldest message in the log. Earlier rows stay lost.',
  }),
  messages: Type.Integer({ description: 'Messages read so far.', examples: [120_000] }),
  rows: Type.Integer({
    description: 'Rows inserted so far, whether they were missing or not.',
    examples: [480_000],
  }),
  progress: Type.Number({ minimum: 0, maximum: 1, examples: [0.4] }),
  rollups_from: orNull(Instant, { description: 'First hour whose rollups were computed again.' }),
  rollups_to: orNull(Instant, { description: 'End of the hours whose rollups were computed again.' }),
  detail: orNull(Type.String(), { description: 'Reason of a failure.' }),
})
export type RepairBody = Static<typeof RepairBody>
