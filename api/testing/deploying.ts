// Deployments on an in-memory engine: a fleet, and time that advances until a condition holds.
import { openHarness } from './rest.ts'
import { type Behaviour, type UpdatingDevice, updatingFleet, uploadFirmware } from './updating-fleet.ts'

export const DEPLOYMENTS_PATH = '/api/v1/ota/deployments'

/** An admin, the versions 1.0 and 2.0, and devices running 1.0. */
export async function openDeploying(
  behaviours: Readonly<Record<string, Behaviour>>,
  about: { group?: string } = {},
) {
  const harness = openHarness()
  const { token } = await harness.login('admin')
  await uploadFirmware(harness, '1.0')
  const firmwareId = await uploadFirmware(harness, '2.0')
  const fleet = await updatingFleet(harness, behaviours, about)
  const send = (line: string, body?: unknown) => harness.request(line, { token, body })
  const deploy = (more: object = {}) =>
    send(`POST ${DEPLOYMENTS_PATH}`, { firmware_version: '2.0', target: { type: 'all' }, ...more })
  const read = async (id: unknown) => (await send(`GET ${DEPLOYMENTS_PATH}/${id}`)).body
  /** Advances the time until the deployment satisfies the condition. */
  const until = async (
    id: unknown,
    isReached: (body: Record<string, unknown>) => boolean,
    stepMs = 1_000,
  ) => {
    for (let i = 0; i < 2_000; i++) {
      const body = await read(id)
      if (isReached(body)) return body
      harness.clock.at += i % 3 === 0 ? stepMs : 0
      await new Promise((resolve) => setImmediate(resolve))
    }
    throw new Error(`never so: ${JSON.stringify(await read(id))}`)
  }
  const untilFinished = (id: unknown, stepMs?: number) =>
    until(id, ({ finished_at: at }) => at !== null, stepMs)
  const device = (name: string): UpdatingDevice => {
    const found = fleet.find(({ id }) => id === name)
    if (found === undefined) throw new Error(`no ${name}`)
    return found
  }
  return { ...harness, send, deploy, read, until, ends: untilFinished, fleet, device, firmwareId, token }
}

export const many = (count: number, behaviour: Behaviour = 'good') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`d${i}`, behaviour]))
