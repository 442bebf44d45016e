// ALR: how alerts fire, end and are notified.
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../../../../schemas/json.ts'
import { parsePayload } from '../../../payload.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import { rowsOf } from '../rest.ts'
import { type Device, expectStatus, expectSuccess, type Run, type Session } from '../run.ts'
import { check, type ServiceCheck } from '../steps.ts'

const WAIT_SEC = 2

export const ALERTS: readonly ServiceCheck[] = [
  {
    ...check('ALR-01', 'Alerts', 'an alert fires on one value and is resolved by another'),
    run: async (run) => {
      const { device, session } = await deviceWithRule(run, {})
      await session.publish('telemetry', { heat: 90 })
      await untilAlerts(run, device, 'firing', 1)
      await session.publish('telemetry', { heat: 20 })
      await untilAlerts(run, device, 'resolved', 1)
      await untilAlerts(run, device, 'firing', 0)
    },
  },
  {
    ...check(
      'ALR-02',
      'Alerts',
      'a condition with for_sec that ends early leaves no alert, and one that lasts fires by itself',
    ),
    isSlow: true,
    run: async (run) => {
      const { device, session } = await deviceWithRule(run, { for_sec: WAIT_SEC })
      await session.publish('telemetry', { heat: 90 })
      await untilAlerts(run, device, 'pending', 1)
      await session.publish('telemetry', { heat: 20 })
      await untilAlerts(run, device, 'pending', 0)
      await session.publish('telemetry', { heat: 95 })
      await untilAlerts(run, device, 'firing', 1)
      await untilAlerts(run, device, 'resolved', 0)
    },
  },
  {
    ...check(
      'ALR-03',
      'Alerts',
      'an alert that fires again while it is recovering stays the same alert and counts twice',
    ),
    isSlow: true,
    run: async (run) => {
      const { device, session } = await deviceWithRule(run, { keep_firing_for_sec: WAIT_SEC })
      await session.publish('telemetry', { heat: 90 })
      const [first] = await untilAlerts(run, device, 'firing', 1)
      await session.publish('telemetry', { heat: 20 })
      await untilAlerts(run, device, 'recovering', 1)
      await session.publish('telemetry', { heat: 91 })
      const [again] = await untilAlerts(run, device, 'firing', 1)
      if (again?.['alert_id'] !== first?.['alert_id'] || again?.['count'] !== 2)
        throw new UnmetCheck('it is another alert, or its count is not 2', JSON.stringify([first, again]))
      await session.publish('telemetry', { heat: 20 })
      const [resolved] = await untilAlerts(run, device, 'resolved', 1)
      if (resolved?.['reason'] !== 'recovered')
        throw new UnmetCheck('the reason is not `recovered`', resolved)
    },
  },
  {
    ...check(
      'ALR-04',
      'Alerts',
      'an alert that a user resolved does not fire again until its condition was false',
    ),
    isSlow: true,
    run: async (run) => {
      const { device, session } = await deviceWithRule(run, {})
      await session.publish('telemetry', { heat: 90 })
      const [alert] = await untilAlerts(run, device, 'firing', 1)
      const resolved = await run.rest.post(`/alerts/${alert?.['alert_id']}/resolve`, {})
      expectSuccess(resolved, 'POST /alerts/{id}/resolve')
      await untilAlerts(run, device, 'resolved', 1)
      await session.publish('telemetry', { heat: 92 })
      await session.publish('telemetry', { heat: 20 })
      await session.publish('telemetry', { heat: 93 })
      const [next] = await untilAlerts(run, device, 'firing', 1)
      if (next?.['alert_id'] === alert?.['alert_id'])
        throw new UnmetCheck('a resolved alert fires again instead of a new one', next)
      await untilAlerts(run, device, 'resolved', 1)
    },
  },
  {
    ...check(
      'ALR-05',
      'Alerts',
      'alerts of one rule are sent to a webhook in one message with a valid signature',
    ),
    isSlow: true,
    run: webhook,
  },
  {
    ...check(
      'ALR-06',
      'Alerts',
      'a flapping condition stays one open alert until it has been false for long enough',
    ),
    isSlow: true,
    run: flapping,
  },
  {
    ...check('ALR-07', 'Alerts', 'a silence mutes the notifications of an alert, but not the alert itself'),
    isSlow: true,
    run: silence,
  },
]

async function deviceWithRule(
  run: Run,
  more: JsonObject,
): Promise<{ readonly device: Device; readonly session: Session }> {
  const device = await run.register()
  const session = await run.connect(device)
  await createRule(run, { target: { type: 'device', value: device.id }, channels: [], ...more })
  return { device, session }
}

async function createRule(run: Run, more: JsonObject): Promise<void> {
  const made = await run.rest.post('/alerts/rules', {
    ...{
      name: `conformance ${run.id}`,
      condition: { kind: 'threshold', metric: 'heat', op: '>', value: 80 },
    },
    ...more,
  })
  expectStatus(made, 201, 'POST /alerts/rules')
  run.atEnd(() => run.rest.call('DELETE', `/alerts/rules/${made.body['rule_id']}`))
}

async function untilAlerts(
  run: Run,
  device: Device,
  state: string,
  count: number,
  withinMs?: number,
): Promise<readonly JsonObject[]> {
  const find = async () => {
    const { body } = await run.rest.get(`/alerts?device_id=${device.id}&state=${state}`)
    return body['total'] === count ? rowsOf(body) : undefined
  }
  return run.until(`${count} alerts that are ${state}`, find, withinMs)
}

const HOLD_SEC = 10

async function flapping(run: Run): Promise<void> {
  const flap = { episodes: 2, within_sec: 300, hold_sec: HOLD_SEC }
  const { device, session } = await deviceWithRule(run, { flap })
  await session.publish('telemetry', { heat: 90 })
  const [first] = await untilAlerts(run, device, 'firing', 1)
  await session.publish('telemetry', { heat: 20 })
  await untilAlerts(run, device, 'resolved', 1)
  await session.publish('telemetry', { heat: 91 })
  const [second] = await untilAlerts(run, device, 'firing', 1)
  if (second?.['alert_id'] === first?.['alert_id'])
    throw new UnmetCheck('a resolved alert fires again instead of a new one', second)
  await session.publish('telemetry', { heat: 20 })
  const [quiet] = await untilAlerts(run, device, 'recovering', 1)
  if (quiet?.['flapping'] !== true)
    throw new UnmetCheck('the second episode is not marked as flapping', quiet)
  await session.publish('telemetry', { heat: 92 })
  const [again] = await untilAlerts(run, device, 'firing', 1)
  if (again?.['alert_id'] !== second?.['alert_id'] || !(Number(again?.['count']) > 1))
    throw new UnmetCheck('a flapping condition opens another alert, or is not counted', again)
  await session.publish('telemetry', { heat: 20 })
  await untilAlerts(run, device, 'recovering', 1)
  await untilAlerts(run, device, 'resolved', 2, 3 * HOLD_SEC * 1_000)
}

async function silence(run: Run): Promise<void> {
  const { device, session } = await deviceWithRule(run, {})
  const made = await run.rest.post('/alerts/silences', {
    ...{ matchers: { device_id: device.id }, comment: `conformance ${run.id}` },
    ends_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  expectStatus(made, 201, 'POST /alerts/silences')
  const id = String(made.body['silence_id'])
  run.atEnd(() => run.rest.call('DELETE', `/alerts/silences/${id}`))
  await session.publish('telemetry', { heat: 90 })
  const isMuted = async () => {
    const [alert] = await untilAlerts(run, device, 'firing', 1)
    const by = alert?.['suppressed_by']
    return Array.isArray(by) && by.includes(`silence:${id}`)
  }
  await run.until('the alert fires, muted by the silence', isMuted)
  await run.rest.call('DELETE', `/alerts/silences/${id}`)
  await run.until('the silence ends', async () => !(await isMuted()))
}

interface WebhookRequest {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

async function webhook(run: Run): Promise<void> {
  const seen: WebhookRequest[] = []
  const sink = createServer((request, answer) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => {
      text += part
    })
    request.on('end', () => {
      seen.push({ headers: request.headers, text })
      answer.end()
    })
  })
  await new Promise<void>((resolve) => sink.listen(run.webhookPort, '127.0.0.1', resolve))
  try {
    // A TCP server has an object as its address.
    const { port } = sink.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/`
    const about = { type: 'webhook', url, group: run.group, group_wait_sec: WAIT_SEC }
    const made = await run.rest.post('/alerts/channels', about)
    if (made.body['code'] === 'WEBHOOK_TARGET_FORBIDDEN')
      throw new SkippedCheck(
        `the setting FLEET_WEBHOOK_ALLOW of the service does not contain 127.0.0.1:${port}`,
      )
    expectStatus(made, 201, 'POST /alerts/channels')
    const channel = String(made.body['channel_id'])
    run.atEnd(() => run.rest.call('DELETE', `/alerts/channels/${channel}`))
    const group = `${run.group}/webhook`
    await createRule(run, {
      target: { type: 'group', value: group },
      channels: [channel],
      severity: 'warning',
    })
    const devices = await Promise.all(Array.from({ length: 3 }, () => run.register({ group })))
    const sessions = await Promise.all(devices.map((device) => run.connect(device)))
    await Promise.all(sessions.map((session) => session.publish('telemetry', { heat: 99 })))
    const fired = await run.until('a message about three alerts', () =>
      seen.find(({ text }) => Object(parsePayload(Buffer.from(text))?.['data']).total === 3),
    )
    const signature = signatureOf(String(made.body['secret']), fired)
    if (!String(fired.headers['webhook-signature']).split(' ').includes(signature))
      throw new UnmetCheck('the signature does not match the secret', JSON.stringify(fired.headers))
    const count = seen.filter(({ text }) => text.includes('"alert.fired"')).length
    if (count !== 1)
      throw new UnmetCheck(`${count} messages were sent about alerts that fired together, not one`)
  } finally {
    sink.close()
  }
}

/** Returns the signature as defined by Standard Webhooks. */
function signatureOf(secret: string, { headers, text }: WebhookRequest): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}
