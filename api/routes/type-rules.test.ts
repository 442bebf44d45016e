// [contract 5.4] The rules that the device-type file defines, over REST.
import { expect, test } from 'vitest'
import type { DeviceTypes, TelemetryField } from '../../engine/domain/device-type/definition.ts'
import { newPackr } from '../../engine/domain/packing.ts'
import { NO_SAVE } from '../../engine/ports/store.ts'
import { openHarness } from '../testing/rest.ts'

const RULES = '/api/v1/alerts/rules'
const HEAT = 'rul_type_greenhouse_heat_above'
const MOISTURE = {
  field: 'moisture',
  unit: '%',
  range: [0, 50],
  alertAbove: undefined,
  alertBelow: 20,
} as const
const FIELDS: readonly TelemetryField[] = [
  { field: 'heat', unit: 'C', range: undefined, alertAbove: -50, alertBelow: undefined },
  MOISTURE,
]

function typesWith(telemetry = FIELDS): DeviceTypes {
  const statusFields = [
    { field: 'battery', warnBelow: 30, criticalBelow: 10 },
    { field: 'tank', warnBelow: undefined, criticalBelow: 5 },
  ]
  const type = { name: 'greenhouse', displayName: 'Greenhouse', icon: undefined, telemetry, statusFields }
  return new Map([[type.name, { ...type, commands: undefined }]])
}

async function open(customTypes = typesWith()) {
  const harness = openHarness({ customTypes })
  const { token } = await harness.login('admin')
  const id = await harness.device('g', { type: 'greenhouse' })
  const ask = async (line: string, body?: unknown) => harness.request(line, { token, body })
  const alerts = async (state = 'firing') => (await ask(`GET /api/v1/alerts?state=${state}`)).body.data
  const report = (values: object) => harness.engine.publish(id, 'telemetry', values)
  return { ...harness, ask, alerts, report }
}

test('a type has a rule for each bound, with a hysteresis of 2 % of the range, or of the bound', async () => {
  const { ask } = await open()
  const { data } = (await ask(`GET ${RULES}`)).body
  const shown = data.map(({ rule_id, name, condition, levels }: Record<string, unknown>) => ({
    ...{ rule_id, name, condition, levels },
  }))
  const about = (metric: string, op: string, value: number, clear_value: number) => ({
    ...{ kind: 'threshold', metric, op, value, clear_value },
  })
  const level = (severity: string, value: number, clear_value: number) => ({ severity, value, clear_value })
  const levels = [level('warning', 30, 30.6), level('critical', 10, 10.2)]
  expect(shown).toHaveLength(4)
  expect(shown).toEqual(
    expect.arrayContaining([
      { rule_id: HEAT, name: 'heat above -50 C', condition: about('heat', '>', -50, -51), levels: null },
      {
        ...{ rule_id: 'rul_type_greenhouse_moisture_below', name: 'moisture below 20 %', levels: null },
        condition: about('moisture', '<', 20, 21),
      },
      {
        ...{ rule_id: 'rul_type_greenhouse_battery_levels', name: 'battery below 30', levels },
        condition: about('battery', '<', 30, 30.6),
      },
      {
        ...{ rule_id: 'rul_type_greenhouse_tank_levels', name: 'tank below 5' },
        ...{ condition: about('tank', '<', 5, 5.1), levels: [level('critical', 5, 5.1)] },
      },
    ]),
  )
  for (const rule of data)
    expect(rule).toMatchObject({
      ...{ source: 'device_type', target: { type: 'type', value: 'greenhouse' }, enabled: true },
      ...{ severity: 'warning', for_sec: 0, keep_firing_for_sec: 0, created_by: 'system' },
    })
})

test('a value at which such a rule clears is a short decimal, as the file would have it', async () => {
  const air: TelemetryField = { field: 'air', unit: 'C', range: [-10, 60], alertAbove: 0.3, alertBelow: 2 }
  const { ask } = await open(typesWith([air]))
  const clearOf = async (side: string) =>
    (await ask(`GET ${RULES}/rul_type_greenhouse_air_${side}`)).body.condition.clear_value
  expect([await clearOf('below'), await clearOf('above')]).toEqual([3.4, -1.1])
})

test('permitted changes to such a rule survive a restart', async () => {
  const { ask, engine } = await open()
  const wish = { enabled: false, for_sec: 7, keep_firing_for_sec: 8, repeat_interval_sec: 60, channels: [] }
  const edited = await ask(`PATCH ${RULES}/${HEAT}`, wish)
  expect(edited).toMatchObject({ status: 200, body: { ...wish, revision: 2, source: 'device_type' } })
  // A start reads the stored changes, and takes everything else from the file.
  const bytes = await engine.store.documents.read('alert-rules', HEAT)
  const stored: Record<string, unknown> = newPackr().unpack(bytes ?? new Uint8Array())
  await engine.store.save({
    ...NO_SAVE,
    documents: [
      { collection: 'alert-rules', id: HEAT, bytes: newPackr().pack({ ...stored, name: 'from before' }) },
    ],
  })
  expect((await ask(`GET ${RULES}/${HEAT}`)).body).toMatchObject({ ...wish, name: 'heat above -50 C' })
})

test.each([
  ['PATCH', { name: 'mine' }, ['name']],
  ['PATCH', { enabled: true, severity: 'critical' }, ['severity']],
  ['DELETE', undefined, undefined],
])('everything else is refused: %s %j', async (method, body, fields) => {
  const { ask } = await open()
  const refused = await ask(`${method} ${RULES}/${HEAT}`, body)
  expect([refused.status, refused.body.code, refused.body.fields]).toEqual([409, 'RULE_OF_TYPE', fields])
  expect(refused.body.allowed).toContain('for_sec')
})

test('a status field has one alert that moves between levels', async () => {
  const { alerts, report } = await open()
  const seen = async () =>
    alerts().then((all: readonly Record<string, unknown>[]) =>
      all.map(({ severity, count }) => [severity, count]),
    )
  await report({ battery: 25 })
  expect(await seen()).toEqual([['warning', 1]])
  const [{ alert_id: id }] = await alerts()
  await report({ battery: 5 })
  await report({ battery: 10.1 })
  expect(await seen()).toEqual([['critical', 1]])
  await report({ battery: 10.2 })
  expect(await seen()).toEqual([['warning', 1]])
  await report({ battery: 30.6 })
  expect([await seen(), (await alerts('resolved'))[0]]).toMatchObject([
    [],
    { alert_id: id, reason: 'recovered' },
  ])
})
