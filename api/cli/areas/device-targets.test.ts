import { expect, test } from 'vitest'
import type { Client } from '../../../schemas/client.ts'
import type { Cli } from '../cli.ts'
import { createOutput } from '../output.ts'
import { forDevices } from './device-targets.ts'

function cliOf(client: object): Cli {
  const stdout = { write: () => undefined }
  const output = createOutput(
    { stdout, stderr: stdout },
    { form: 'table', isPlain: true, columns: undefined },
  )
  const signal = new AbortController().signal
  const cli: Partial<Cli> = {
    output,
    signal,
    connect: async () => ({ client: client as Client, url: '', token: async () => '' }),
  }
  return cli as Cli
}

test('a device that stops matching while the devices are read does not hide another one', async () => {
  const ids = Array.from({ length: 300 }, (_, n) => `robot-${String(n).padStart(3, '0')}`)
  const matching = ids.map((device_id) => ({ device_id, status: 'online' }))
  async function* listDevices({ query }: { query: { per_page: number } }) {
    for (let at = 0; at < matching.length; at += query.per_page) {
      yield { data: matching.slice(at, at + query.per_page) }
      matching.shift()
    }
  }
  const exportDevices = async () => matching.map((device) => `${JSON.stringify(device)}\n`).join('')
  const cli = cliOf({ pages: { listDevices }, exportDevices })
  const changed: string[] = []
  const targets = { kind: 'matching', selector: { status: 'online' } } as const
  await forDevices(
    cli,
    targets,
    { yes: true },
    {
      run: async (_, deviceId) => ({ changed: changed.push(deviceId) }),
    },
  )
  expect(changed).toEqual(ids)
})

test('decommissioned devices are left out unless they are asked for', async () => {
  const lines = ['online', 'decommissioned'].map(
    (status) => `${JSON.stringify({ device_id: status, status })}\n`,
  )
  const exportDevices = async () => lines.join('')
  const done: string[] = []
  const work = { run: async (_: Client, deviceId: string) => ({ done: done.push(deviceId) }) }
  await forDevices(cliOf({ exportDevices }), { kind: 'matching', selector: {} }, { yes: true }, work)
  expect(done).toEqual(['online'])
})
