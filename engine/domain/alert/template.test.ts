import { expect, test } from 'vitest'
import { jsonErrorAt } from './json-error.ts'
import { fillJsonTemplate, parseJsonTemplate } from './json-template.ts'
import { fillTemplate, unknownPlaceholders } from './template.ts'
import { HOSTILE_VALUES } from './testing/hostile-values.ts'
import { templateValues } from './testing/template-values.ts'

const VALUES = templateValues()

test('a message says what the alert and its device are', () => {
  const text = '{{device.name}}: {{ alert.type }} {{alert.value}} ({{alert.threshold}}) {{alert.labels.site}}'
  expect(fillTemplate(text, VALUES)).toBe('Pump 7: threshold 17.5 (20) north')
  expect(fillTemplate('{{value}} < {{threshold}}, {{total}}', VALUES)).toBe('17.5 < 20, 1')
})

test('an alert without a value leaves nothing in its place', () => {
  const values = templateValues({ value: null })
  expect(fillTemplate('[{{alert.value}}|{{alert.labels.none}}|{{alert.reason}}]', values)).toBe('[||]')
})

test('placeholders that mean nothing are named', () => {
  expect(unknownPlaceholders('{{alert.id}} {{ channel.secret }} {{alert.__proto__}} {{toString}}')).toEqual([
    'channel.secret',
    'alert.__proto__',
    'toString',
  ])
  expect(unknownPlaceholders('{{alert.value:number}} {{alert.labels.a b}} {{}}')).toHaveLength(3)
})

test('a value is not read again for placeholders', () => {
  const values = templateValues({}, { message: '{{device.id}} $& {{rule.id}}' })
  expect(fillTemplate('{{alert.message}}!', values)).toBe('{{device.id}} $& {{rule.id}}!')
})

test('a long value is cut, and never in the middle of a character', () => {
  const values = templateValues({}, { message: '😀'.repeat(1_000) })
  const text = fillTemplate('{{alert.message}}', values)
  expect(text.length).toBeLessThanOrEqual(1_024)
  expect(text.endsWith('😀…')).toBe(true)
})

test.each([
  ['{"a":1,}', 7],
  ['{"a":}', 5],
  ['{"a" 1}', 5],
  ['[1 2]', 3],
  ['{"a":"b', 5],
  ['', 0],
  ['{}x', 2],
  ['[01]', 2],
  ["{'a':1}", 1],
  ['{"a":[}', 6],
  ['[]]', 2],
  ['nul', 0],
  ['['.repeat(5_000), 32],
])('%s stops being JSON at %i', (text, position) => {
  expect(parseJsonTemplate(text)).toEqual({ kind: 'malformed', position })
})

test('what JSON.parse takes is JSON here, and nothing else', () => {
  const alphabet = ['{', '}', '[', ']', ',', ':', '"a"', '1', 'true', ' ']
  const texts = Array.from({ length: 100_000 }, (_, n) =>
    [...String(n).padStart(5, '0')].map((digit) => alphabet[Number(digit)]).join(''),
  )
  expect(texts.filter((text) => (jsonErrorAt(text) === undefined) !== parses(text))).toEqual([])
})

test('a template may have placeholders in strings only, and only known ones', () => {
  expect(parseJsonTemplate('{"{{alert.id}}": 1}')).toEqual({ kind: 'in_key', key: '{{alert.id}}' })
  expect(parseJsonTemplate('{"a": {{alert.value}}}')).toMatchObject({ kind: 'malformed', position: 7 })
  expect(parseJsonTemplate('{"a": "{{secret}}"}')).toEqual({ kind: 'unknown', name: 'secret' })
  expect(parseJsonTemplate('{"a": "x {{alert.value:number}}"}')).toEqual({
    kind: 'unknown',
    name: 'alert.value:number',
  })
  expect(parseJsonTemplate('{"a": "{{nothing:number}}"}')).toEqual({ kind: 'unknown', name: 'nothing' })
})

test('a number stands for itself, and for null where there is none', () => {
  const text = '{"v":"{{ alert.value:number }}","t":"{{alert.type:number}}","n":"{{total:number}}"}'
  expect(render(text)).toEqual({ v: 17.5, t: null, n: 1 })
})

test.each(HOSTILE_VALUES)('the value %j parses back to itself in a template', (hostile) => {
  const values = templateValues({ labels: { site: hostile } }, { message: hostile })
  const text = '{"text":"<{{alert.message}}>","__proto__":{"x":["{{alert.labels.site}}"]}}'
  const back = render(text, values) as { readonly text: string }
  expect(back.text).toBe(`<${hostile}>`)
  expect(JSON.stringify(back)).toBe(
    JSON.stringify(
      JSON.parse(`{"text":${JSON.stringify(`<${hostile}>`)},"__proto__":{"x":[${JSON.stringify(hostile)}]}}`),
    ),
  )
})

test('a result that would be too long has shorter values', () => {
  const values = templateValues({}, { message: '\u0001'.repeat(1_024) })
  const tree = Array.from({ length: 300 }, () => '{{alert.message}}')
  const text = fillJsonTemplate(tree, values)
  expect(text.length).toBeLessThanOrEqual(65_536)
  expect(JSON.parse(text)).toHaveLength(300)
})

function render(text: string, values = VALUES): unknown {
  const template = parseJsonTemplate(text)
  if (template.kind !== 'parsed') throw new Error(template.kind)
  return JSON.parse(fillJsonTemplate(template.tree, values))
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
