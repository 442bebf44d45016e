// REG, MQTT and PRES: registration, what a device may do over MQTT, and online and offline status.
import { UnmetCheck } from '../../verdict.ts'
import { rowsOf } from '../rest.ts'
import { expectStatus, type Run } from '../run.ts'
import { check, expectRefused, messageOn, type ServiceCheck, status, untilStatus } from '../steps.ts'

const SILENCE_SEC = 2
const LATE_MS = 1_000

export const DEVICES: readonly ServiceCheck[] = [
  {
    ...check('REG-01', 'Devices', 'a device is registered, found in its group, changed and purged'),
    run: async (run) => {
      const { id } = await run.register({ tags: ['conformance'] })
      const read = await run.rest.get(`/devices/${id}`)
      expectStatus(read, 200, 'GET /devices/{id}')
      const { body } = await run.rest.get(`/devices?group=${encodeURIComponent(run.group)}&per_page=200`)
      if (!rowsOf(body).some(({ device_id }) => device_id === id))
        throw new UnmetCheck('a device that was registered is not in the list of its group', body)
      const changed = await run.rest.call('PATCH', `/devices/${id}`, { body: { name: 'another name' } })
      expectStatus(changed, 200, 'PATCH /devices/{id}')
      const twice = await run.rest.post('/devices', { device_id: id, name: id, type: 'mqtt_device' })
      expectStatus(twice, 409, 'POST /devices with an id that is taken')
      const purged = await run.rest.call('DELETE', `/devices/${id}?purge=true`)
      if (![200, 202].includes(purged.status)) expectStatus(purged, 200, 'DELETE /devices/{id}?purge=true')
      await run.until('404 after the purge', async () => {
        return (await run.rest.get(`/devices/${id}`)).status === 404
      })
    },
  },
  {
    ...check(
      'MQTT-01',
      'Writing a device',
      'the broker refuses a wrong token, an unknown device, a foreign client id and a decommissioned device',
    ),
    run: async (run) => {
      const device = await run.register()
      await expectRefused(run, { id: device.id, token: 'wrong' })
      await expectRefused(run, { id: run.newId(), token: device.token })
      await expectRefused(run, { id: `${device.id}-x`, token: device.token })
      expectStatus(await run.rest.call('DELETE', `/devices/${device.id}`), 200, 'DELETE /devices/{id}')
      await expectRefused(run, device)
    },
  },
  {
    ...check('MQTT-02', 'Writing a device', 'a device can publish and subscribe only below its own topic'),
    run: namespace,
  },
  {
    ...check(
      'MQTT-03',
      'Writing a device',
      'a message that cannot be used becomes a dead letter, and the device gets the reason',
    ),
    isSlow: true,
    run: feedback,
  },
  {
    ...check('MQTT-04', 'Writing a device', 'acknowledged messages survive a restart of the service'),
    isSlow: true,
    isLast: true,
    run: durability,
  },
  {
    ...check(
      'PRES-01',
      'Presence',
      'birth message, offline message and last will make a device online and offline',
    ),
    run: async (run) => {
      const device = await run.register()
      const topic = `fleet/${device.id}/status`
      const will = { topic, payload: Buffer.from(status('offline', 's2')), qos: 1, retain: true } as const
      const first = await run.connect(device)
      await first.publish('status', status('online', 's1'))
      await untilStatus(run, device.id, 'online')
      await first.publish('status', status('offline', 's1'))
      await first.client.endAsync()
      await untilStatus(run, device.id, 'offline')
      const second = await run.connect(device, { will })
      await second.publish('status', status('online', 's2'))
      await untilStatus(run, device.id, 'online')
      second.client.stream.destroy()
      await untilStatus(run, device.id, 'offline')
    },
  },
  {
    ...check(
      'PRES-02',
      'Presence',
      'a second session of a device ends the first one, whose last will has no effect',
    ),
    run: async (run) => {
      const device = await run.register()
      const topic = `fleet/${device.id}/status`
      const willOf = (id: string) =>
        ({ topic, payload: Buffer.from(status('offline', id)), qos: 1, retain: true }) as const
      const first = await run.connect(device, { will: willOf('s1') })
      await first.publish('status', status('online', 's1'))
      const second = await run.connect(device, { will: willOf('s2') })
      await second.publish('status', status('online', 's2'))
      await run.until('the first session ends', () => !first.client.connected)
      await second.publish('telemetry', { here: 1 })
      await untilStatus(run, device.id, 'online')
    },
  },
  {
    ...check('PRES-03', 'Presence', 'a silent device becomes offline within 1 s of its deadline'),
    // The check has a tight time limit, which would often fail on a machine that also runs a test suite.
    isSlow: true,
    run: async (run) => {
      const device = await run.register({ heartbeat_timeout_sec: SILENCE_SEC })
      const { publish } = await run.connect(device)
      await publish('status', status('online', 's1'))
      await untilStatus(run, device.id, 'online')
      await publish('telemetry', { last: 'word' })
      await untilStatus(run, device.id, 'offline')
      const { body } = await run.rest.get(`/devices/${device.id}`)
      // The times are those of the service, so that network delays do not count.
      const silentMs = Date.parse(String(body['updated_at'])) - Date.parse(String(body['last_seen_at']))
      const lateMs = silentMs - SILENCE_SEC * 1_000
      if (lateMs < 0) throw new UnmetCheck(`the device is offline ${-lateMs} ms before its deadline`, body)
      if (lateMs > LATE_MS)
        throw new UnmetCheck(`the device is offline ${lateMs} ms after its deadline`, body)
    },
  },
]

async function namespace(run: Run): Promise<void> {
  const [device, other] = [await run.register(), await run.register()]
  const secret = await run.connect(other)
  await secret.publish('telemetry', { n: 1 })
  for (const suffix of ['telemetry', 'status', 'shadow/reported']) {
    // Each attempt uses a session of its own, because the broker may end it.
    const { client } = await run.connect(device)
    client.publish(`fleet/${other.id}/${suffix}`, JSON.stringify({ n: 2, status: 'offline' }), { qos: 1 })
    const ended = new Promise<void>((resolve) => client.once('close', () => resolve()))
    await Promise.race([
      ended,
      client.publishAsync(`fleet/${device.id}/telemetry`, '{"n":3}', { qos: 1 }),
    ]).catch(() => undefined)
    await client.endAsync(true)
  }
  const { client } = await run.connect(device)
  for (const filter of ['#', 'fleet/#', `fleet/${other.id}/#`, 'fleet/+/telemetry', '$SYS/#']) {
    const granted = await client.subscribeAsync(filter, { qos: 1 }).then(
      ([answer]) => (answer?.qos ?? 128) < 128,
      () => false,
    )
    if (granted) throw new UnmetCheck(`the broker lets ${device.id} subscribe to ${filter}`)
  }
  await secret.publish('telemetry', { last: true })
  await run.until('the value of the other device', async () => {
    const { body } = await run.rest.get(`/telemetry/${other.id}`)
    return Object(body['data']).last === true
  })
  const { body } = await run.rest.get(`/telemetry/${other.id}`)
  if (Object(body['data']).n !== 1) throw new UnmetCheck('a device published telemetry of another one', body)
}

async function feedback(run: Run): Promise<void> {
  const mistakes = [
    { suffix: 'telemtry', text: '{"a":1}', code: 'UNKNOWN_TOPIC' },
    { suffix: 'telemetry', text: '{"a":', code: undefined },
    { suffix: 'command/ack', text: '{"request_id":"cmd_404","status":"completed"}', code: 'UNKNOWN_COMMAND' },
  ]
  for (const { suffix, text, code } of mistakes) {
    // Each mistake is made by another device, because a device gets at most one error message per second.
    const device = await run.register()
    const session = await run.connect(device)
    await run.subscribe(session, device, 'error')
    await session.publish(suffix, text)
    const error = await messageOn(run, session, 'error').catch(() => {
      throw new UnmetCheck(`a device gets no message on error about its mistake on ${suffix}`)
    })
    if (code !== undefined && error['code'] !== code)
      throw new UnmetCheck(`the message on error has the code ${error['code']}, not ${code}`, error)
    for (const word of ['code', 'detail', 'topic', 'advice', 'timestamp'])
      if (typeof error[word] !== 'string') throw new UnmetCheck(`the message on error has no ${word}`, error)
    await run.until(`the dead letter of ${suffix}`, async () => {
      const { body } = await run.rest.get(`/dead-letters?device_id=${device.id}`)
      return rowsOf(body).find(({ topic }) => topic === `fleet/${device.id}/${suffix}`)
    })
  }
}

async function durability(run: Run): Promise<void> {
  const device = await run.register()
  const { publish } = await run.connect(device)
  const values = Array.from({ length: 50 }, (_, n) => n)
  await Promise.all(
    values.map((n) => publish('telemetry', { n, timestamp: new Date(Date.now() - n * 1_000).toISOString() })),
  )
  await run.restart()
  const from = new Date(Date.now() - 600_000).toISOString()
  const path = `/telemetry/${device.id}/history?metric=n&interval=raw&limit=100&from=${from}`
  await run.until('all values that were acknowledged before the restart', async () => {
    const answer = await run.rest.get(path)
    return rowsOf(answer.body).length === values.length
  })
}
