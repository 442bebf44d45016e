import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readDeviceTypes } from './device-types-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'fleet-types-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'types.yaml')
const read = (text: string | Buffer) => {
  writeFileSync(file, text)
  return readDeviceTypes(file)
}
const lineOf = (text: string | Buffer) => {
  const result = read(text)
  if (result.kind !== 'wrong') return expect.fail('accepted')
  expect(result.line).not.toContain('\n')
  expect(result.line.startsWith(`FLEET_DEVICE_TYPES ${file}: `)).toBe(true)
  return result.line.slice(`FLEET_DEVICE_TYPES ${file}: `.length)
}

test('the example in deploy uses every key and is accepted', () => {
  const result = readDeviceTypes(fileURLToPath(new URL('../../deploy/device-types.yaml', import.meta.url)))
  if (result.kind === 'wrong') return expect.fail(result.line)
  expect(result.types.get('greenhouse')).toMatchObject({
    telemetry: [{ unit: '°C', range: [-10, 60], alertAbove: 45, alertBelow: 2 }, { unit: '%' }],
    commands: [{ name: 'open_vent', parameters: [{ required: true, max: 100 }, {}] }, { parameters: [] }],
    statusFields: [{ field: 'battery.percent', warnBelow: 30, criticalBelow: 10 }],
    heartbeatTimeoutSec: 900,
    firmwareBytesMax: 4_194_304,
  })
  expect(result.types.get('beacon')).toMatchObject({ telemetry: [], commands: undefined })
})

const GREENHOUSE = `device_types:
  greenhouse:
    display_name: Greenhouse
    icon: leaf
    telemetry:
      - { field: temperature, unit: "°C", range: [0, 50], alert_above: 40 }
    commands:
      - name: open_vent
        description: Opens a vent
        parameters:
          - { name: percent, type: integer, required: true, min: 0, max: 100 }
    status_fields:
      - { field: battery, warn_below: 20, critical_below: 5 }
`

test('a valid file defines its types', () => {
  const result = read(GREENHOUSE)
  if (result.kind !== 'read') return expect.fail(result.line)
  expect([...result.types.keys()]).toEqual(['greenhouse'])
  expect(result.types.get('greenhouse')?.commands?.[0]?.parameters?.[0]).toMatchObject({ min: 0, max: 100 })
})

test('without a file there are no custom types', () => {
  expect(readDeviceTypes(undefined)).toEqual({ kind: 'read', types: new Map() })
})

test('an unknown key is refused with its line', () => {
  expect(lineOf(GREENHOUSE.replace('icon:', 'ikon:'))).toMatch(
    /^line 4: .*ikon: is not known here; known are /,
  )
})

test('every mistake is reported with its line', () => {
  const text = GREENHOUSE.replace('[0, 50]', '[50, 0]').replace('type: integer', 'type: int')
  expect(lineOf(text)).toMatch(/^line 6: .*range: must be .*; line 11: .*type: must be one of/)
})

test.each([
  ['not YAML', 'device_types:\n  a: [1', /^line 2: /],
  ['a tab where blanks belong', 'device_types:\n\ta: 1', /^line 2: /],
  ['a key twice', 'device_types:\n  a: {}\n  a: {}', /^line 3: .*unique/i],
  ['an alias', 'device_types:\n  a: &x {}\n  b: *x', /^line 3: aliases are not allowed/],
  ['something else altogether', '- 1', /must be a mapping/],
  ['empty', '', /^is empty; a file of device types begins with device_types:$/],
  ['only a comment', '# types', /^is empty; a file of device types begins with device_types:$/],
  [
    'with a limit without end',
    'device_types:\n  a:\n    telemetry: [{ field: x, alert_above: .inf }]',
    /must be a number.*, is Infinity$/,
  ],
  ['a built-in type', 'device_types:\n  gateway: {}', /^line 2: .*built-in/],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0x00]), /is not valid UTF-8/],
  [
    'two documents',
    'device_types: {}\n---\ndevice_types: {}',
    /^line 2: a second document begins here; the file may have only one$/,
  ],
])('%s is refused with its reason', (_, text, expected) => {
  expect(lineOf(text)).toMatch(expected)
})

test('two types whose alert rules would have the same id are refused', () => {
  const file = (temperature: string) => `device_types:
  sensor:
    telemetry: [{ field: pro_temp, alert_above: 50 }]
  sensor_pro:
    telemetry: [{ field: ${temperature}, alert_above: 90 }]
`
  expect(lineOf(file('temp'))).toBe(
    'device_types.sensor_pro: its alert rule rul_type_sensor_pro_temp_above would have the id of one of sensor; ' +
      'rename the type or the field',
  )
  expect(read(file('temperature')).kind).toBe('read')
})

test('a directory and a missing file are refused by name', () => {
  expect(readDeviceTypes(join(folder, 'none'))).toMatchObject({
    line: expect.stringContaining('file not found'),
  })
  expect(readDeviceTypes(folder)).toMatchObject({
    kind: 'wrong',
    line: expect.stringContaining('is not a regular file'),
  })
})

test.each([
  ['aliases of aliases', `a: &a [x]\n${'b: &b [*a, *a]\n'.repeat(50)}`],
  ['nested 100 000 deep', '['.repeat(100_000)],
  ['nested 100 000 deep by indentation', `${'- '.repeat(100_000)}x`],
  ['nested 100 000 deep in braces', '{a: '.repeat(100_000)],
  ['too large', `# ${'x'.repeat(1024 * 1024)}`],
  ['a million keys', `device_types: {${Array.from({ length: 100_000 }, (_, i) => `k${i}: 1`).join(', ')}}`],
])('a bomb is refused before it goes off: %s', (_, text) => {
  expect(lineOf(text).length).toBeLessThan(4_000)
})
