// The document is complete, sound, and equal to the committed one. After a change of topics, frames or schemas:
//   npx vitest run --project integration api/openapi/asyncapi.test.ts -u
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { readAck } from '../../engine/domain/command/ack-message.ts'
import { readStatus } from '../../engine/domain/device/status-message.ts'
import { readLogLines } from '../../engine/domain/history/log-lines.ts'
import { readOtaStatus } from '../../engine/domain/ota/ota-report.ts'
import { readReported } from '../../engine/domain/shadow/reported-message.ts'
import { Micros, Millis } from '../../schemas/ids.ts'
import { CLOUD_MESSAGES, UPLINK_MESSAGES } from '../../schemas/mqtt-messages.ts'
import { CLOUD_ONLY_SUFFIXES, isRetainable, parseSuffix } from '../../schemas/topics.ts'
import { CHANNELS, parseClientFrame } from '../../schemas/ws.ts'
import { openHarness } from '../testing/rest.ts'
import { toAsyncApi } from './asyncapi.ts'

const ROOT = new URL('../../', import.meta.url)
// npm defines this format.
const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string }
const document = toAsyncApi(version)
const NOW = Date.UTC(2026, 2, 1, 8, 30)

const examplesOf = (name: string): readonly unknown[] =>
  (document.components.messages[name]?.examples ?? []).map(({ payload }) => payload)

test('the committed document is the generated one', async () => {
  await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot('../../schemas/asyncapi.json')
})

test('the service gives the document and its page to anyone', async () => {
  const { request } = openHarness()
  const { body } = await request('GET /api/v1/asyncapi.json')
  expect(body).toEqual({ ...document, info: { ...document.info, version: '0.0.0-test' } })
  const { text, headers } = await request('GET /docs/async')
  for (const { address } of Object.values(document.channels)) expect(text).toContain(address)
  const ids = new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id]) => id))
  for (const [, id] of text.matchAll(/ href="#([^"]+)"/g)) expect(ids).toContain(id)
  expect(String(headers['content-security-policy'])).not.toMatch(/script-src|unsafe/)
  expect(text).not.toContain('<script')
})

describe('the AsyncAPI document', () => {
  test('every reference has a target', () => {
    for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = pointer.split('/').reduce<unknown>((at, key) => Object(at)[key], document)
      expect(target, pointer).toBeDefined()
    }
  })

  test('each channel has the parameters of its address and at least one operation', () => {
    const used = new Set(Object.values(document.operations).map(({ channel }) => channel.$ref))
    for (const [name, { address, parameters = {} }] of Object.entries(document.channels)) {
      const names = Array.from(address.matchAll(/\{(\w+)\}/g), ([, found]) => found)
      expect(Object.keys(parameters).sort()).toEqual(names.sort())
      expect(used).toContain(`#/channels/${name}`)
    }
  })

  test('an operation uses messages of its own channel', () => {
    for (const { channel, messages } of Object.values(document.operations))
      for (const { $ref } of messages) expect($ref.startsWith(`${channel.$ref}/messages/`)).toBe(true)
  })

  test('the examples match their schemas, which are JSON Schema 2020-12', () => {
    const ajv = new Ajv2020({ strict: false })
    // The types declare a module, but the import is the function itself.
    ;(addFormats as unknown as (ajv: unknown) => void)(ajv)
    ajv.addSchema({ $id: 'doc', components: document.components })
    for (const { name, payload, examples = [] } of Object.values(document.components.messages)) {
      const schema = JSON.parse(JSON.stringify(payload).replaceAll('"#/', '"doc#/'))
      for (const { payload: example } of examples)
        expect(ajv.validate(schema, example), `${name}: ${ajv.errorsText()}`).toBe(true)
    }
  })
})

describe('topics of the document', () => {
  test('each suffix is of the kind under which it is described, and retained only where that counts', () => {
    for (const [kind, messages] of Object.entries(UPLINK_MESSAGES))
      for (const { suffix, isRetained } of messages) {
        expect(parseSuffix(suffix.replace('{name}', 'wheel')).kind).toBe(kind)
        if (isRetained) expect(isRetainable(suffix)).toBe(true)
      }
    expect(Object.values(CLOUD_MESSAGES).map(({ suffix }) => suffix)).toEqual([...CLOUD_ONLY_SUFFIXES])
    for (const suffix of CLOUD_ONLY_SUFFIXES) expect(parseSuffix(suffix).kind).toBe('cloud_only')
  })

  const bytes = (example: unknown) => Buffer.from(JSON.stringify(example))
  const read = {
    status: (example: unknown) => readStatus(bytes(example)).kind,
    log: (example: unknown) => readLogLines(bytes(example), Micros(NOW * 1_000)).kind,
    reported: (example: unknown) => readReported(bytes(example)).kind,
    command_ack: (example: unknown) => readAck(bytes(example)).kind,
    ota_status: (example: unknown) => readOtaStatus(bytes(example), Millis(NOW)).kind,
  }
  test.each([
    ['status', 'said'],
    ['log', 'entries'],
    ['reported', 'reported'],
    ['command_ack', 'ack'],
    ['ota_status', 'report'],
  ] as const)('the service reads the example of %s', (name, kind) => {
    expect(examplesOf(name).map(read[name])).toEqual([kind])
  })
})

describe('frames of the document', () => {
  test.each(['auth', 'subscribe', 'unsubscribe', 'ping'])('the service takes the example of %s', (name) => {
    const [example] = examplesOf(name)
    expect(parseClientFrame(JSON.stringify(example))).toMatchObject({ kind: 'frame' })
  })

  test('each channel has its event', () => {
    for (const channel of CHANNELS) expect(document.components.messages).toHaveProperty(`${channel}_event`)
  })
})
