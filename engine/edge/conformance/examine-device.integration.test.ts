// The kit against the devices of the project, which meet everything, and against devices that each break one promise.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Examination, examineDevice } from './device/examine-device.ts'
import type { Report } from './report.ts'

const BUILT = new URL('../../../dist/engine/edge/conformance/testing/', import.meta.url)
const program = (name: string, args = '') =>
  `exec "${process.execPath}" "${fileURLToPath(new URL(name, BUILT))}" ${args}`

function examine(run: string, over: Partial<Examination> = {}): Promise<Report> {
  return examineDevice({
    ...{ deviceId: 'my-device', run, port: 0, profile: 'full', only: [] },
    ...{ environment: process.env, deviceType: 'conformance' },
    ...{ command: 'ping', slowCommand: { command: 'wait', data: { sec: 1 } } },
    field: { name: 'conformance', values: [1, 2, 3] },
    // What the kit decides how long to do takes a tenth of the time.
    pace: 0.1,
    signal: AbortSignal.timeout(100_000),
    ...over,
  })
}

/** A device that never puts an update off leaves nothing to judge. */
const wrong = ({ checks }: Report) =>
  checks
    .filter(({ id, result }) => result !== 'pass' && id !== 'OTA-18')
    .map(({ id, reason }) => [id, reason])

test('a device on the library meets everything', async () => {
  const report = await examine(program('device.js', '--heartbeat 1 --keepalive 2'))
  expect(wrong(report)).toEqual([])
})
