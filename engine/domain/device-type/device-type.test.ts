import { expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import type { DeviceType } from './definition.ts'
import { loadDeviceTypes, type ParseFile, problemText } from './load.ts'
import { type Path, pathText } from './reader.ts'
import { validateCommand } from './validate-command.ts'

/** Parses JSON in place of YAML. The number of steps to a value stands in for its line. */
const parse: ParseFile = (text) => ({
  kind: 'parsed',
  value: JSON.parse(text),
  lineOf: (path: Path) => path.length,
})
const load = (file: unknown) => loadDeviceTypes(typeof file === 'string' ? file : JSON.stringify(file), parse)
const problemsOf = (entry: unknown, name = 'greenhouse') => {
  const loaded = load({ device_types: { [name]: entry } })
  return loaded.kind === 'refused' ? loaded.problems.map(({ path, message }) => `${path}: ${message}`) : []
}

const GREENHOUSE = {
  display_name: 'Greenhouse controller',
  icon: 'leaf',
  telemetry: [{ field: 'air.temperature', unit: '°C', range: [-10, 60], alert_above: 45, alert_below: 2 }],
  commands: [
    {
      name: 'set_vent',
      description: 'Opens the roof',
      parameters: [
        { name: 'percent', type: 'integer', required: true, min: 0, max: 100 },
        { name: 'speed', type: 'number', min: 0.1 },
        { name: 'quiet', type: 'boolean' },
      ],
    },
    { name: 'self_test' },
    { name: 'stop', parameters: [] },
  ],
  status_fields: [{ field: 'battery', warn_below: 30, critical_below: 10 }],
  heartbeat_timeout_sec: 900,
}

function greenhouse(): DeviceType {
  const loaded = load({ device_types: { greenhouse: GREENHOUSE } })
  const type = loaded.kind === 'loaded' ? loaded.types.get('greenhouse') : undefined
  if (type === undefined) throw new Error('not loaded')
  return type
}

test('a file of device types is read with everything it defines', () => {
  expect(greenhouse()).toMatchObject({
    displayName: 'Greenhouse controller',
    telemetry: [{ field: 'air.temperature', range: [-10, 60], alertAbove: 45, alertBelow: 2 }],
    commands: [{ name: 'set_vent' }, { name: 'self_test', parameters: undefined }, { parameters: [] }],
    statusFields: [{ field: 'battery', warnBelow: 30, criticalBelow: 10 }],
    heartbeatTimeoutSec: 900,
  })
})

test('a file may define empty types, or none', () => {
  expect(load({ device_types: { plain: {} } })).toMatchObject({ kind: 'loaded' })
  expect(load({ device_types: null })).toMatchObject({ kind: 'loaded' })
})

test.each<[unknown, string]>([
  [5, 'device_types.greenhouse: must be a mapping'],
  [{ display_name: 5 }, 'device_types.greenhouse.display_name: must be text, is 5'],
  [
    { heartbeat_timeout_sec: 0 },
    'device_types.greenhouse.heartbeat_timeout_sec: must be a whole number of seconds from 1 to 604800',
  ],
  [{ telemetry: {} }, 'device_types.greenhouse.telemetry: must be a list'],
  [{ telemetry: [{}] }, 'device_types.greenhouse.telemetry[0]: field is missing'],
  [
    { telemetry: [{ field: 'a', range: [5, 1] }] },
    'device_types.greenhouse.telemetry[0].range: must be [min, max], two numbers, the smaller first',
  ],
  [
    { telemetry: [{ field: 'a', alert_above: 'hot' }] },
    'device_types.greenhouse.telemetry[0].alert_above: must be a number, is "hot"',
  ],
  [{ telemetry: [{ field: 'a' }, { field: 'a' }] }, 'device_types.greenhouse.telemetry: a is defined twice'],
  [
    { commands: [{ name: 'a', parameters: [{ name: 'x', type: 'float' }] }] },
    'device_types.greenhouse.commands[0].parameters[0].type: must be one of integer, number, boolean, string, array, object',
  ],
  [
    { commands: [{ name: 'a', parameters: [{ name: 'x', type: 'boolean', max: 1 }] }] },
    'device_types.greenhouse.commands[0].parameters[0]: min and max are for numbers, x is boolean',
  ],
  [
    { commands: [{ name: 'a', parameters: [{ name: 'x', type: 'number', min: 2, max: 1 }] }] },
    'device_types.greenhouse.commands[0].parameters[0]: min 2 is above max 1',
  ],
  [
    { commands: [{ name: '$cancel' }] },
    'device_types.greenhouse.commands[0].name: names that begin with $ are the service’s own',
  ],
  [
    { status_fields: [{ field: '' }] },
    'device_types.greenhouse.status_fields[0].field: must have 1 to 128 characters',
  ],
  [{ description: ['x'] }, 'device_types.greenhouse.description: must be text, is a list'],
  [
    { telemetry: [{ field: 'a', alert_above: 10, alert_below: 20 }] },
    'device_types.greenhouse.telemetry[0]: alert_below 20 is above alert_above 10, so every value would raise an alert',
  ],
  [
    { telemetry: [{ field: 'a', range: [-1.7e308, 1.7e308] }] },
    'device_types.greenhouse.telemetry[0].range: must be [min, max], two numbers, the smaller first',
  ],
  [
    { telemetry: [{ field: 'a', alert_above: -1.79e308 }] },
    'device_types.greenhouse.telemetry[0].alert_above: must be a number from -1e+300 to 1e+300, is -1.79e+308',
  ],
])('a file with the type %j is refused', (entry, problem) => {
  expect(problemsOf(entry)).toEqual([problem])
})

test.each(['__proto__', '9lives', 'a/b', 'mqtt_device', ''])('a type called %j is refused', (name) => {
  expect(load(`{"device_types":{${JSON.stringify(name)}:{}}}`)).toMatchObject({ kind: 'refused' })
  expect(Object.hasOwn(Object.prototype, 'display_name')).toBe(false)
})

test.each(['5', '[]', '{}', '{"types":{}}'])(
  'the file %s without device_types at the top is refused',
  (text) => {
    expect(load(text).kind).toBe('refused')
  },
)

test('every mistake is listed with its line, up to a bound', () => {
  const loaded = load({ device_types: { a: { icon: 1 }, b: { telemetry: [{ unit: 'x' }] } } })
  if (loaded.kind !== 'refused') throw new Error('loaded')
  expect(loaded.problems.map(problemText)).toEqual([
    'line 3: device_types.a.icon: must be text, is 1',
    'line 4: device_types.b.telemetry[0]: field is missing',
  ])
  const many = load({ device_types: { a: { telemetry: Array.from({ length: 50 }, () => ({})) } } })
  expect(many.kind === 'refused' && many.problems).toHaveLength(LIMITS.deviceTypeProblemsMax)
})

test('a file with an unknown key is refused', () => {
  const loaded = load({ device_types: { a: { colour: 'green' } } })
  expect(loaded.kind === 'refused' && loaded.problems).toMatchObject([
    { path: 'device_types.a.colour', line: 3 },
  ])
})

test('a file over the limit is refused unparsed', () => {
  const tooLarge = ' '.repeat(LIMITS.deviceTypeBytesMax + 1)
  const outcome = loadDeviceTypes(tooLarge, () => {
    throw new Error('parsed')
  })
  expect(outcome).toMatchObject({
    kind: 'refused',
    problems: [{ message: expect.stringContaining('1048577') }],
  })
})

test('a file that its parser refuses is refused with the problems that the parser found', () => {
  const problems = [{ line: 7, path: '', message: 'aliases are not allowed' }]
  expect(loadDeviceTypes('a: *b', () => ({ kind: 'refused', problems }))).toEqual({
    kind: 'refused',
    problems,
  })
})

test('a command with the right parameters is accepted', () => {
  expect(validateCommand(greenhouse(), 'set_vent', { percent: 40, speed: 0.5, quiet: true })).toEqual([])
  expect(validateCommand(greenhouse(), 'set_vent', { percent: 0, quiet: null })).toEqual([])
})

test('each wrong parameter of a command is listed', () => {
  expect(validateCommand(greenhouse(), 'set_vent', { speed: 0, quiet: 'yes', 'a/b': 1 })).toEqual([
    { path: '/data/percent', code: 'REQUIRED', message: 'is required' },
    { path: '/data/speed', code: 'OUT_OF_RANGE', message: 'must be >= 0.1' },
    { path: '/data/quiet', code: 'WRONG_TYPE', message: 'must be a boolean' },
    { path: '/data/a~1b', code: 'UNKNOWN_PARAMETER', message: 'set_vent has no such parameter' },
  ])
  expect(validateCommand(greenhouse(), 'set_vent', { percent: 40.5 })).toMatchObject([{ code: 'WRONG_TYPE' }])
  expect(validateCommand(greenhouse(), 'set_vent', { percent: 101 })).toMatchObject([
    { code: 'OUT_OF_RANGE' },
  ])
})

test('a command that the type does not define is refused', () => {
  expect(validateCommand(greenhouse(), 'explode', {})).toEqual([
    { path: '/command', code: 'UNKNOWN_COMMAND', message: 'greenhouse takes set_vent, self_test, stop' },
  ])
  expect(validateCommand(greenhouse(), 'constructor', {})).toMatchObject([{ code: 'UNKNOWN_COMMAND' }])
})

test('a command takes any data if the file does not restrict it', () => {
  expect(validateCommand(greenhouse(), 'self_test', { deep: true })).toEqual([])
  expect(validateCommand(greenhouse(), 'stop', { deep: true })).toMatchObject([{ code: 'UNKNOWN_PARAMETER' }])
  expect(validateCommand({ ...greenhouse(), commands: undefined }, 'anything', {})).toEqual([])
})

test('a path is printed as a person would write it', () => {
  expect(pathText(['device_types', 'a', 'commands', 0, 'name'])).toBe('device_types.a.commands[0].name')
})
