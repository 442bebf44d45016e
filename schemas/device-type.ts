// Bodies of /device-types.
import { Type } from 'typebox'
import { choice, object, orNull } from './json-schema.ts'

const text = orNull(Type.String())
const number = orNull(Type.Number())

const EXAMPLE = {
  name: 'greenhouse',
  display_name: 'Greenhouse controller',
  icon: null,
  built_in: false,
  telemetry: [{ field: 'temperature', unit: '°C', range: [-10, 50], alert_above: 35, alert_below: 5 }],
  commands: [
    {
      name: 'open_vent',
      description: 'Opens the roof vent',
      parameters: [{ name: 'percent', type: 'integer', required: true, min: 0, max: 100 }],
    },
  ],
  status_fields: [{ field: 'battery.percent', warn_below: 30, critical_below: 10 }],
  heartbeat_timeout_sec: 900,
}

const ParameterBody = object('CommandParameter', 'What the type’s file leaves out is left out.', {
  name: Type.String(),
  type: choice(['integer', 'number', 'boolean', 'string', 'array', 'object']),
  required: Type.Boolean(),
  description: Type.Optional(Type.String()),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
})

const DeviceTypeBody = Type.Object(
  {
    name: Type.String({ examples: ['greenhouse'] }),
    display_name: Type.String(),
    icon: text,
    built_in: Type.Boolean(),
    telemetry: Type.Array(
      Type.Object({
        field: Type.String(),
        unit: text,
        range: orNull(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 })),
        alert_above: number,
        alert_below: number,
      }),
    ),
    commands: orNull(
      Type.Array(
        Type.Object({
          name: Type.String(),
          description: text,
          parameters: orNull(Type.Array(ParameterBody)),
        }),
        { description: 'Null means that the type does not restrict commands.' },
      ),
    ),
    status_fields: Type.Array(
      Type.Object({ field: Type.String(), warn_below: number, critical_below: number }),
    ),
    heartbeat_timeout_sec: orNull(Type.Number(), {
      description: 'Silence after which devices of this type are offline. Null means that of the service.',
    }),
  },
  { title: 'DeviceType', examples: [EXAMPLE] },
)
export const DeviceTypeList = object('DeviceTypeList', { data: Type.Array(DeviceTypeBody) })
