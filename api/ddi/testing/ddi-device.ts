// For tests: a device that gets firmware through the DDI, on an in-memory engine whose time advances until a condition
// holds.
import { type HarnessOptions, openHarness } from '../../testing/rest.ts'
import { uploadFirmware } from '../../testing/updating-fleet.ts'

export const DEPLOYMENTS = '/api/v1/ota/deployments'
const TRIES_MAX = 2_000

export async function openDdi(options: HarnessOptions = {}) {
  const harness = openHarness({ ...options, ota: { ddi: true, ...options.ota } })
  const { token } = await harness.login('admin')
  const firmwareId = await uploadFirmware(harness, '2.0')
  const deviceId = await harness.device('d0')
  const validFrom = harness.engine.devices.get(deviceId)?.tokensValidFrom
  if (validFrom === undefined) throw new Error('the device is not there')
  const tokenOf = async (scopes?: ('publish' | 'subscribe')[]) =>
    (await harness.tokens.issueDevice({ deviceId, validFrom, ttlSec: 3_600, ...(scopes ? { scopes } : {}) }))
      .token
  const own = `TargetToken ${await tokenOf()}`
  const ask = async (
    line: string,
    body?: unknown,
    authorization: string | undefined = own,
    more: Readonly<Record<string, string>> = {},
  ) => {
    const [method = 'GET', path = ''] = line.split(' ')
    const response = await harness.app.inject({
      // The tests give the method as text.
      method: method as 'GET',
      url: path.startsWith('/') ? path : `/DEFAULT/controller/v1/d0${path === '' ? '' : `/${path}`}`,
      headers: authorization === '' ? more : { ...more, authorization },
      ...(body === undefined ? {} : { payload: body as object }),
    })
    const isJson = /json/.test(String(response.headers['content-type'])) && response.payload !== ''
    return {
      status: response.statusCode,
      headers: response.headers,
      // Tests access bodies freely.
      body: isJson ? JSON.parse(response.payload) : response.payload,
    }
  }
  const send = (line: string, body?: unknown) => harness.request(line, { token, body })
  const deploy = (more: object = {}) =>
    send(`POST ${DEPLOYMENTS}`, { firmware_version: '2.0', target: { type: 'device', value: 'd0' }, ...more })
  const job = async () => (await send('GET /api/v1/ota/devices/d0')).body.jobs[0]
  /** Advances the time until the condition holds for what `look` returns. */
  const until = async <Seen>(look: () => Promise<Seen>, isSo: (seen: Seen) => boolean): Promise<Seen> => {
    for (let i = 0; i < TRIES_MAX; i++) {
      const seen = await look()
      if (isSo(seen)) return seen
      harness.clock.at += i % 3 === 0 ? 1_000 : 0
      await new Promise((resolve) => setImmediate(resolve))
    }
    throw new Error(`never so: ${JSON.stringify(await look())}`)
  }
  const poll = () => ask('GET ')
  /** Polls until a link with this name appears, and resolves with its path. */
  const linked = async (name: string): Promise<string> => {
    const { body } = await until(poll, (polled) => polled.body._links?.[name] !== undefined)
    return new URL(body._links[name].href).pathname
  }
  const feedback = (path: string, execution: string, finished = 'none', more: object = {}) =>
    ask(`POST ${path}/feedback`, { id: '1', status: { execution, result: { finished }, ...more } })
  return { ...harness, ask, poll, send, deploy, job, until, linked, feedback, tokenOf, firmwareId, deviceId }
}
