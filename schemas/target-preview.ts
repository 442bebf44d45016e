// The answer to a dry run of an action on many devices: which ones it would reach, and which it would skip.
import { type Static, Type } from 'typebox'
import { choice, object, orNull } from './json-schema.ts'
import { DEVICE_STATUSES } from './vocabulary.ts'

const PREVIEW_SAMPLE_MAX = 50
const PREVIEW_SKIPPED_MAX = 1_000

/** How many devices a preview lists. */
export const PREVIEW_LIMITS = { sampleMax: PREVIEW_SAMPLE_MAX, skippedMax: PREVIEW_SKIPPED_MAX } as const

const Counts = (description: string, example: object) =>
  Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description, examples: [example] })

export const TargetPreview = object('TargetPreview', {
  total: Type.Integer({
    minimum: 0,
    description: 'Devices that are meant. Send it as `expected_total` to be refused if it changes.',
    examples: [3],
  }),
  accepted: Type.Integer({ minimum: 0, description: 'Devices that it would go to.', examples: [2] }),
  skipped: Type.Array(
    Type.Object({
      device_id: Type.String({ examples: ['robot-3'] }),
      reason: Type.String({ examples: ['decommissioned'] }),
    }),
    { maxItems: PREVIEW_SKIPPED_MAX, description: 'The first devices that it would not go to.' },
  ),
  by_reason: Counts('Number of all skipped devices by reason.', { decommissioned: 1 }),
  by_status: Counts('Number of accepted devices by status.', { online: 1, offline: 1 }),
  by_type: Counts('Number of accepted devices by type.', { mqtt_device: 2 }),
  sample: Type.Array(
    Type.Object({
      device_id: Type.String({ examples: ['robot-7'] }),
      name: Type.String({ examples: ['Picker 7'] }),
      type: Type.String({ examples: ['mqtt_device'] }),
      status: choice(DEVICE_STATUSES, { examples: ['online'] }),
      group: orNull(Type.String(), { examples: ['warehouse/a'] }),
    }),
    { maxItems: PREVIEW_SAMPLE_MAX, description: 'The first accepted devices.' },
  ),
})
export type TargetPreview = Static<typeof TargetPreview>

/** A field of the request that was previewed. */
export const ExpectedTotal = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      'The `total` of a dry run. If another number of devices is meant by now, nothing is sent and the answer is 409 `TARGET_CHANGED`.',
    examples: [3],
  }),
)
