// Bodies of the stages of a deployment: their sizes, and the conditions for continuing.
import { type Static, Type } from 'typebox'
import { choice, closed, orNull, whole } from './json-schema.ts'
import { COMPARISONS } from './vocabulary.ts'

const percent = (more: object = {}) => Type.Number({ minimum: 1, maximum: 100, ...more })

const GATE_AGGREGATES = ['avg', 'min', 'max', 'p95', 'last'] as const

const MetricGate = closed({
  metric: Type.String({ minLength: 1, maxLength: 256, examples: ['battery.level'] }),
  agg: Type.Optional(choice(GATE_AGGREGATES, { default: 'avg' })),
  op: choice(COMPARISONS, { examples: ['>='] }),
  value: Type.Number({ examples: [20] }),
  relative_to: Type.Optional(
    orNull(choice(['before']), {
      description:
        'The metric is compared with `value` times what it was on the same devices, for as long, before the stage began.',
    }),
  ),
})

const Gate = closed({
  max_offline: Type.Optional(whole(0, 250_000, { default: 0 })),
  in_error: Type.Optional(whole(0, 250_000, { default: 0 })),
  alerts: Type.Optional(
    orNull(choice(['critical', 'warning']), {
      description: 'No alert of this severity, or a worse one, may have fired since the update.',
    }),
  ),
  metrics: Type.Optional(
    Type.Array(MetricGate, {
      maxItems: 8,
      description: 'What has to hold at the end of the soak. A metric that nobody reports does not hold.',
    }),
  ),
})
export type GateRequestBody = Static<typeof Gate>

const RULE = {
  soak_sec: Type.Optional(whole(0, 2_592_000, { default: 300 })),
  success_percent: Type.Optional(percent({ default: 100 })),
  gate: Type.Optional(Gate),
  on_gate_failure: Type.Optional(choice(['abort', 'pause'], { default: 'abort' })),
  approval: Type.Optional(Type.Boolean({ default: false })),
}

const DEVICE_ID = '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'
export const CanaryRequestBody = closed({
  percent: Type.Optional(orNull(percent())),
  count: Type.Optional(orNull(whole(1, 250_000))),
  devices: Type.Optional(
    orNull(Type.Array(Type.String({ pattern: DEVICE_ID }), { minItems: 1, maxItems: 10_000 })),
  ),
  ...RULE,
})
export type CanaryRequestBody = Static<typeof CanaryRequestBody>

export const StageRequestBody = closed({
  percent: Type.Optional(
    orNull(percent(), {
      description: 'Of all devices, together with those of the stages before. The last stage has 100.',
      examples: [25],
    }),
  ),
  count: Type.Optional(
    orNull(whole(1, 250_000), { description: 'Devices of this stage, instead of `percent`.' }),
  ),
  max_concurrent: Type.Optional(orNull(whole(1, 1_000))),
  ...RULE,
})
export type StageRequestBody = Static<typeof StageRequestBody>
