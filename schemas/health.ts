// Bodies of the operational endpoints.
import { type Static, Type } from 'typebox'
import { choice, object } from './json-schema.ts'

export const Liveness = object('Liveness', { status: choice(['live']) })

export const Dependencies = Type.Array(
  Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() }),
  { examples: [[{ name: 'log', ok: true, detail: '' }]] },
)

const READINESS = ['ready', 'starting', 'draining', 'degraded'] as const
export const Readiness = object('Readiness', {
  status: choice(READINESS),
  http_url: Type.Optional(Type.String({ examples: ['http://localhost:8000'] })),
  mqtt_url: Type.Optional(Type.String({ examples: ['mqtt://localhost:1883'] })),
  dependencies: Type.Optional(Dependencies),
})
export type Readiness = Static<typeof Readiness>

export const ReadyQuery = Type.Object({ verbose: Type.Optional(Type.String()) })
