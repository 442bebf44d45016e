import { expect, test } from 'vitest'
import type { Client } from '../../../schemas/client.ts'
import type { Cli } from '../cli.ts'
import { createOutput } from '../output.ts'
import { DebugRecords } from './debug-records.ts'

const AT = '2026-11-22T10:00:00.000Z'

/** Pages of `size`, newest first, of a list that may change between two reads. */
async function* pagesOf<Item>(list: readonly Item[], size: number) {
  for (let at = 0; at === 0 || at < list.length; at += size) yield { data: list.slice(at, at + size) }
}

function setUp() {
  const audit: { at: string; action: string; code: string; detail: object; ip: string }[] = []
  const letters: object[] = []
  let printed = ''
  const client = {
    pages: {
      listAudit: ({ query }: { query: { limit: number } }) => pagesOf([...audit].reverse(), query.limit),
    },
    listDeadLetters: async ({ query }: { query: { per_page: number } }) => ({
      data: [...letters].reverse().slice(0, query.per_page),
    }),
    listCommands: async () => ({ data: [] }),
  } as unknown as Client
  const stdout = { write: (text: string) => (printed += text) }
  const output = createOutput(
    { stdout, stderr: stdout },
    { form: 'table', isPlain: true, columns: undefined },
  )
  const connection = { client, url: '', token: async () => '' }
  const records = new DebugRecords({ output } as Cli, connection, 'w1')
  const addLetter = () =>
    letters.push({ id: String(letters.length), received_at: AT, topic: 't', reason: 'r', detail: 'd' })
  return {
    audit,
    addLetter,
    async printed() {
      printed = ''
      await records.printNew()
      return printed.split('\n').slice(0, -1)
    },
  }
}

test('a refused connect is shown, however many refused messages came after it', async () => {
  const { audit, printed } = setUp()
  audit.push({ at: AT, action: 'mqtt.connect', code: 'MQTT_CONNECTION_REFUSED', detail: {}, ip: '127.0.0.1' })
  for (let n = 0; n < 300; n++)
    audit.push({ at: AT, action: 'mqtt.message', code: 'not_json', detail: {}, ip: '127.0.0.1' })
  expect(await printed()).toEqual([
    expect.stringContaining('\trefused\tmqtt.connect, MQTT_CONNECTION_REFUSED'),
  ])
  expect(await printed()).toEqual([])
})

test('the first read shows the latest entries, and each later one everything that has come since', async () => {
  const { addLetter, printed } = setUp()
  for (let n = 0; n < 30; n++) addLetter()
  expect(await printed()).toHaveLength(10)
  for (let n = 0; n < 20; n++) addLetter()
  expect(await printed()).toHaveLength(20)
  expect(await printed()).toEqual([])
})
