// The script that many teams write themselves: mqtt.js → JSON.parse → flatten → @clickhouse/client, in batches of 10 000
// rows or 1 s.
import { Readable } from 'node:stream'
import { createClient } from '@clickhouse/client'
import { connectAsync } from 'mqtt'
import { flatten } from '../measure/flatten.ts'

const BATCH_ROWS = 10_000
const BATCH_AGE_MS = 1_000
/** The client's `insert` would be enough with a real ClickHouse. The embedded one takes rows only as `input`. */
const COLUMNS = 'device_id String, metric String, ts DateTime64(3), value Float64'
const INSERT = `INSERT INTO glue SELECT * FROM input('${COLUMNS}') FORMAT JSONEachRow`

interface Row {
  readonly device_id: string
  readonly metric: string
  readonly ts: number
  readonly value: number
}

const [mqttUrl = '', clickhouseUrl = ''] = process.argv.slice(2)
// The password comes from the environment, as in many such scripts.
const { CLICKHOUSE_USER: username = '', CLICKHOUSE_PASSWORD: password = '' } = process.env
const clickhouse = createClient({ url: clickhouseUrl, username, password })
let rows: Row[] = []
let inserting: Promise<unknown> = Promise.resolve()

function flush(): void {
  if (rows.length === 0) return
  const values = rows
  rows = []
  inserting = inserting.then(() => insert(values))
}

async function insert(batch: readonly Row[]): Promise<void> {
  const text = batch.map((row) => JSON.stringify(row)).join('\n')
  const { stream } = await clickhouse.exec({
    query: INSERT,
    values: Readable.from([text], { objectMode: false }),
  })
  stream.resume()
}

const client = await connectAsync(mqttUrl, { clientId: 'glue', protocolVersion: 4 })
client.on('message', (topic, payload) => {
  const ts = Date.now()
  const device_id = topic.split('/')[1] ?? ''
  flatten(JSON.parse(payload.toString()), '', (metric, value) => rows.push({ device_id, metric, ts, value }))
  if (rows.length >= BATCH_ROWS) flush()
})
await client.subscribeAsync('fleet/+/telemetry', { qos: 1 })
setInterval(flush, BATCH_AGE_MS)
process.on('SIGTERM', () => process.exit(0))
process.stdout.write('{"msg":"ready"}\n')
