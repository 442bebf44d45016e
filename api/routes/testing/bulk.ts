// For tests: an admin who registers devices in bulk.
import { openHarness } from '../../testing/rest.ts'

const BULK = 'POST /api/v1/devices/bulk'
export const NDJSON = { 'content-type': 'application/x-ndjson' }
export const CSV = { 'content-type': 'text/csv; charset=utf-8' }

export async function setUp() {
  const harness = openHarness()
  const { token, user } = await harness.login('admin')
  const send = (body: string | Buffer, headers: Record<string, string> = NDJSON, query = '') =>
    harness.request(`${BULK}${query}`, { token, body, headers })
  const lines = (...rows: readonly unknown[]) => send(rows.map((row) => JSON.stringify(row)).join('\n'))
  const csv = (...rows: readonly string[]) => send(rows.join('\r\n'), CSV)
  const errors = (body: { results: { error?: { code: string; message: string } }[] }) =>
    body.results.map(({ error }) => error && `${error.code} ${error.message}`)
  return { ...harness, csv, errors, lines, send, token, user }
}
