// Bodies of /telemetry/repair: rows that ClickHouse has lost, read again from the log.
import { type Static, Type } from 'typebox'
import { choice, Instant, instantText, orNull } from './json-schema.ts'

export const NewRepairBody = Type.Object(
  {
    from: Type.Optional(instantText('of what was received from then on; all that the log has if left out')),
    to: Type.Optional(instantText('and up to then; until now if left out')),
  },
  { title: 'NewRepair', examples: [{ from: '2026-03-01T08:00:00Z', to: '2026-03-01T12:00:00Z' }] },
)

export const RepairBody = Type.Object(
  {
    id: Type.String(),
    status: choice(['running', 'done', 'failed']),
    from: orNull(Instant, { description: 'Null: from the beginning of the log.' }),
    to: Instant,
    started_at: Instant,
    updated_at: Type.String({
      format: 'date-time',
      description: 'Moves while it runs; long ago, the process that did it is gone.',
      examples: ['2026-03-01T12:00:05.000Z'],
    }),
    log_from: orNull(Instant, {
      description: 'The oldest message that the log has. What was received before stays lost.',
    }),
    messages: Type.Integer({ description: 'Read so far.', examples: [120_000] }),
    rows: Type.Integer({
      description: 'Inserted so far, whether they were missing or not.',
      examples: [480_000],
    }),
    progress: Type.Number({ minimum: 0, maximum: 1, examples: [0.4] }),
    rollups_from: orNull(Instant, { description: 'Rollups of the hours from here on were computed again,' }),
    rollups_to: orNull(Instant, { description: 'up to here.' }),
    detail: orNull(Type.String(), { description: 'Why it failed.' }),
  },
  { title: 'Repair' },
)
export type RepairBody = Static<typeof RepairBody>
