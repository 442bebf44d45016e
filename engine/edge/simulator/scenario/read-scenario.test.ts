import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readScenario } from './read-scenario.ts'

const noFile = (_: string): string => {
  throw Object.assign(new Error('none'), { code: 'ENOENT' })
}
const MINIMAL = 'types:\n  - { type: mqtt_device, count: 3 }\n'

function read(text: string, readFile = noFile) {
  const found = readScenario({ text, readFile })
  if (found.kind === 'refused') throw new Error(JSON.stringify(found.problems))
  return found.scenario
}

function problemsOf(text: string, readFile = noFile) {
  const found = readScenario({ text, readFile })
  if (found.kind === 'read') return []
  return found.problems.map(({ line, path, message }) => `${line}: ${path} ${message}`)
}

/** Returns the problems of a file whose only type contains this text. */
const ofType = (more: string) =>
  problemsOf(`types:\n  - type: a\n    count: 1\n    ${more.replaceAll('\n', '\n    ')}\n`)

test('a minimal file gets defaults for everything else', () => {
  const scenario = read(MINIMAL)
  expect(scenario).toMatchObject({ name: 'scenario', seed: 1, durationSec: undefined, connectPerSec: 500 })
  const [type] = scenario.types
  expect(type).toMatchObject({
    ...{ idPrefix: 'sim-mqtt-device', perGateway: undefined, keepAliveSec: 60, faults: [], tags: [] },
    telemetry: { intervalSec: 10, jitter: 0, qos: 1, source: { kind: 'fields' } },
    shadow: { follow: true, delayMs: 0 },
    firmware: { version: '1.0.0', download: 'real', behaviours: [] },
  })
  expect([...(type?.commands.keys() ?? [])]).toEqual(['ping'])
  expect(type?.group(1)).toBeUndefined()
})

test('the sample file is read as its comments describe it', () => {
  const folder = new URL('../../examples/simulator/', import.meta.url)
  const readFile = (path: string) => readFileSync(new URL(path, folder), 'utf8')
  const { types, timeline, expect: expected } = read(readFile('site.yaml'), readFile)
  expect(types.map(({ count, perGateway }) => [count, perGateway])).toEqual([
    [20, undefined],
    [40, 20],
  ])
  expect([1, 2, 3].map((number) => types[0]?.group(number))).toEqual(['site/1', 'site/0', 'site/1'])
  expect([19, 20, 40].map((number) => types[1]?.group(number))).toEqual([
    'site/hall-0',
    'site/hall-1',
    'site/hall-2',
  ])
  expect(types[0]?.telemetry.source).toMatchObject({
    fields: expect.arrayContaining([
      { name: 'laps', generator: { kind: 'csv', values: [31.2, 30.8, 33.5, 30.1] } },
    ]),
  })
  expect(types[0]?.firmware.behaviours).toContainEqual({ percent: 10, kind: 'download_fail', failures: 1 })
  expect(timeline[5]).toMatchObject({
    atSec: 30,
    act: { kind: 'fault', fault: { kind: 'offline', atSec: 30, forSec: 5 } },
  })
  expect(expected).toHaveLength(3)
})

test('a type whose devices would have the ids of the gateways of another one is refused', () => {
  const behind = '  - { type: mqtt_device, count: 2, id_prefix: a, via: gateway }\n'
  const beside = '  - { type: mqtt_device, count: 2, id_prefix: a-gw }\n'
  expect(problemsOf(`types:\n${behind}${beside}`)).toEqual([
    '3: types[1].id_prefix a-gw is already used by another type, for its gateways',
  ])
  expect(problemsOf(`types:\n${beside}${behind}`)).toEqual([
    '3: types[1].id_prefix a would name its gateways a-gw, which is already used by another type',
  ])
  expect(problemsOf(`types:\n${behind.replace(', via: gateway', '')}${beside}`)).toEqual([])
})

test('an empty file and a second document are refused with what the file needs', () => {
  expect(problemsOf('# later\n')).toEqual(['1:  the file is empty'])
  expect(problemsOf(`${MINIMAL}---\n${MINIMAL}`)).toEqual([
    '3:  a second document begins here; the file may have only one',
  ])
})

test('all mistakes are reported at once, with their lines', () => {
  const text = `
name: wrong
sed: 7
duration_sec: -1
types:
  - type: mqtt_device
    count: many
    id_prefix: -x
    group: site/{m}
    per_gateway: 5
    telemetry:
      qos: 2
      fields:
        a: { kind: sawtooth }
        b: { kind: walk, min: 5, max: 1, stop: 3 }
        c: wave
    commands:
      dock: { fail_percent: 60, ignore_percent: 60 }
    firmware:
      behaviours:
        - { percent: 60, kind: explode }
        - { percent: 50, kind: brick, n: 3 }
    faults:
      - { percent: 5, kind: flap, times: 3 }
timeline:
  - { do: storm }
  - { at: 1, do: dance }
  - { at: 2, do: rate }
  - { at: 3, do: stop, type: other }
expect:
  - { metric: publishd, op: '>', value: 1 }
  - { metric: ota.succeeded, op: '~', value: x }
`
  expect(problemsOf(text)).toEqual([
    '7: types[0].count must be a whole number from 1 to 250000',
    expect.stringMatching(/^8: types\[0\]\.id_prefix must be 1 to 40 letters/),
    expect.stringMatching(/^9: types\[0\]\.group may contain \{n\}, \{n%10\}/),
    '10: types[0].per_gateway has no effect without via: gateway',
    '12: types[0].telemetry.qos must be one of 0, 1',
    expect.stringMatching(/^14: types\[0\]\.telemetry\.fields\.a\.kind must be one of constant, walk/),
    '15: types[0].telemetry.fields.b.max must not be less than min',
    expect.stringMatching(/^15: types\[0\]\.telemetry\.fields\.b\.stop is not known; did you mean step\?/),
    expect.stringMatching(/^16: types\[0\]\.telemetry\.fields\.c must be one of constant, walk/),
    '18: types[0].commands.dock.fail_percent and ignore_percent add up to more than 100',
    expect.stringMatching(/^21: types\[0\]\.firmware\.behaviours\[0\]\.kind must be one of ok, quiet/),
    expect.stringMatching(/^22: types\[0\]\.firmware\.behaviours\[1\]\.n is not known/),
    '21: types[0].firmware.behaviours add up to more than 100 percent',
    expect.stringMatching(/^24: types\[0\]\.faults\[0\]\.times is not known/),
    '4: duration_sec must be a number from 0.1 to 31536000',
    '26: timeline[0].at is required: seconds since the start',
    expect.stringMatching(/^27: timeline\[1\]\.do must be one of disconnect, connect, storm/),
    '28: timeline[2].interval_sec is required',
    expect.stringMatching(/^29: timeline\[3\]\.type must be a type or an id_prefix in this file/),
    expect.stringMatching(/^31: expect\[0\]\.metric is not known; did you mean published\?/),
    expect.stringMatching(/^32: expect\[1\]\.op must be one of ==/),
    expect.stringMatching(/^32: expect\[1\]\.value must be a number/),
    expect.stringMatching(/^3: sed is not known; did you mean seed\?/),
  ])
})

test.each([
  ['a text that is not YAML', problemsOf('types: ['), /^1: |^2: /],
  ['no types', problemsOf('name: x'), /types must be a list of 1 to 100/],
  [
    'two types with the same ids',
    problemsOf(`${MINIMAL}  - { type: mqtt_device, count: 1 }`),
    /^3: types\[1\]\.id_prefix .* already/,
  ],
  [
    'too many devices',
    problemsOf('types:\n  - { type: a, count: 200000 }\n  - { type: b, count: 60000 }'),
    /^3: types\[1\]\.count brings the total to more/,
  ],
  [
    'an unknown key of a type',
    ofType('telemtry: {}'),
    /^4: types\[0\]\.telemtry is not known; did you mean telemetry/,
  ],
  [
    'an enumeration without values',
    ofType('telemetry: { fields: { a: enum } }'),
    /^4: .*a enum needs its values/,
  ],
  [
    'a missing CSV file',
    ofType('telemetry: { fields: { a: { kind: csv, file: x.csv, column: b } } }'),
    /^4: .*x\.csv cannot be read \(ENOENT\)/,
  ],
  ['a group that is not a path', ofType('group: "a//{n}"'), /^4: types\[0\]\.group must be a path/],
  ['a division by zero', ofType('group: "a/{n%0}"'), /^4: types\[0\]\.group may contain/],
])('%s is refused', (_, problems, expected) => {
  expect(problems.join('\n')).toMatch(expected)
})

test('a column must exist in its CSV file', () => {
  const text =
    'types:\n  - type: a\n    count: 1\n    telemetry: { fields: { a: { kind: csv, file: f, column: c } } }\n'
  expect(problemsOf(text, () => 'a,b\n1,2\n')).toEqual([
    expect.stringMatching(/^4: .*column is not in the file, whose columns are a,b/),
  ])
})

test('faults and update behaviours are read with their shares', () => {
  const [type] = read(
    'types:\n  - type: a\n    count: 2\n    faults: [{ percent: 50, kind: offline, at_sec: 5, for_sec: 2 }]\n' +
      '    firmware: { behaviours: [{ percent: 10, kind: stall, phase: installing }, { percent: 5, kind: stall }] }\n',
  ).types
  expect(type?.faults).toMatchObject([{ percent: 50, fault: { kind: 'offline', atSec: 5, forSec: 2 } }])
  expect(type?.firmware.behaviours.map(({ kind }) => kind)).toEqual(['stall_installing', 'stall_downloading'])
})
