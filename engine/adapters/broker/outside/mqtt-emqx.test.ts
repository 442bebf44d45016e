// What EMQX does in its first and last moments and around a decommission, and that none of it has an effect.
import { Buffer } from 'node:buffer'
import { connect, type MqttClient } from 'mqtt'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { partitionOf } from '../../../domain/partition.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceSession, UplinkMessage } from '../../../ports/broker.ts'
import { deviceId, downlink } from '../testing/contract-world.ts'
import { MOSQUITTO } from '../testing/emqx/stand-in.ts'
import { FakeHost, until } from '../testing/fake-host.ts'
import { MqttStage } from '../testing/outside-broker.ts'

const laneOf = (id: string) => partitionOf(deviceId(id)) % LIMITS.lanes
const NEIGHBOUR =
  Array.from({ length: 1_000 }, (_, n) => `well${n}`).find((id) => laneOf(id) === laneOf('a')) ?? ''

/** Cuts a decommissioned device off whenever it is heard, as the engine does. */
class CuttingHost extends FakeHost {
  cut: (deviceId: DeviceId) => void = () => {}

  override uplink(session: DeviceSession, message: UplinkMessage): void {
    super.uplink(session, message)
    this.cut(session.deviceId)
  }
}

describe.skipIf(MOSQUITTO === undefined)('EMQX', () => {
  let stage: MqttStage
  let host: FakeHost

  beforeEach(async () => {
    stage = await MqttStage.open({ authenticate: ({ password }) => password !== 'wrong' })
    host = new FakeHost()
  })
  afterEach(() => stage.close())

  /** Waits until everything that device `a` sent before has arrived: a device of the same lane is heard. */
  async function settled(text: string): Promise<void> {
    const device = await stage.device(NEIGHBOUR)
    // A lane without its subscriptions gets nothing.
    while (!host.texts(NEIGHBOUR).includes(text))
      await device.publishAsync(`fleet/${NEIGHBOUR}/log`, text, { qos: 1 })
    await device.endAsync()
  }

  /** Connects without credentials, and names the topics of what it is sent. */
  async function intruder(more: object, topics: string[] = []): Promise<MqttClient> {
    const { devicePort } = stage.emqx
    const client = connect(`mqtt://127.0.0.1:${devicePort}`, {
      clientId: 'a',
      username: 'a',
      password: 'guessed',
      protocolVersion: 5,
      reconnectPeriod: 0,
      ...more,
    })
    onTestFinished(() => client.endAsync(true).then(() => undefined))
    client.on('error', () => {})
    client.on('message', (topic) => void topics.push(topic))
    await new Promise((connected) => client.once('connect', connected))
    return client
  }

  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 0,
      (error: { readonly code?: number }) => error.code,
    )

  test('a device is heard on topics that nothing takes, and what it is denied is told', async () => {
    await stage.broker(host)
    await settled('0')
    const device = await stage.device('a')
    await device.publishAsync('fleet/a/telemtry', 'typo', { qos: 1 })
    await device.publishAsync('fleet/b/telemetry', 'of another', { qos: 1 }).catch(() => undefined)
    await device.publishAsync('fleet/a/command', 'the cloud’s', { qos: 1 }).catch(() => undefined)
    await device.subscribeAsync('fleet/b/#', { qos: 1 }).catch(() => undefined)
    await until(() => host.refusals.length === 3, 'what was denied')
    expect(host.refusals).toEqual(['a publish', 'a publish', 'a subscribe'])
    expect(host.refusedTopics).toEqual(['fleet/b/telemetry', 'fleet/a/command'])
    const messages = host.events.flatMap((event) =>
      event.kind === 'message' && event.session.deviceId === 'a' ? [[event.suffix, event.text]] : [],
    )
    expect(messages).toEqual([['telemtry', 'typo']])
  })

  test('a connect that EMQX refuses is told, and leaves the session of the device alone', async () => {
    await stage.broker(host)
    await settled('0')
    const device = await stage.device('a')
    await expect(stage.device('a', { password: 'wrong' })).rejects.toThrow('Not authorized')
    await until(() => host.rejections.length > 0, 'the refusal')
    expect(host.rejections).toEqual(['a 127.0.0.1 device token invalid'])
    await device.publishAsync('fleet/a/log', 'still here', { qos: 1 })
    await until(() => host.texts('a').includes('still here'), 'the device')
    expect([host.sessions('a').length, host.causes('a')]).toEqual([1, []])
  })

  test('a device cannot speak in the name of EMQX', async () => {
    await stage.broker(host)
    await settled('0')
    const device = await stage.device('a')
    const forged = JSON.stringify({
      timestamp: Date.now() + 1e6,
      reason: 'normal',
      disconnected_at: Date.now() + 1e6,
    })
    for (const name of ['$disconnected', '$delivered', '$refused', '$rejected'])
      await device.publishAsync(`fleet/a/${name}`, forged, { qos: 1 })
    await device.publishAsync('fleet/a/log', 'last', { qos: 1 })
    await until(() => host.texts('a').includes('last'), 'what it said last')
    expect([host.texts('a'), host.causes('a'), host.refusals, host.rejections]).toEqual([
      ['last'],
      [],
      [],
      [],
    ])
  })

  describe('while it lets anybody in', () => {
    test('a client without credentials has no effect, then or later, and is expelled', async () => {
      await stage.broker(host)
      await settled('0')
      const will = { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 1, retain: true }
      await stage.emqx.unguarded(async () => {
        const client = await intruder({ will })
        const sent = ['telemetry', 'status', 'shadow/reported', 'command/ack'].map((suffix) =>
          codeOf(client.publishAsync(`fleet/a/${suffix}`, '{"forged":1}', { qos: 1, retain: true })),
        )
        expect(await Promise.all(sent)).toEqual([0x87, 0x87, 0x87, 0x87])
        await until(() => !client.connected, 'its end')
      })
      await settled('1')
      expect([host.texts('a'), host.sessions('a'), host.causes('a'), host.deliveries]).toEqual([
        [],
        [],
        [],
        [],
      ])
      expect((await stage.device('a')).connected).toBe(true)
    })

    test('a socket that outlives the moment has no rights, and no name gives any', async () => {
      // Nobody reads the lanes, so nobody is expelled.
      const names = ['a', 'fleet:ingest', 'fleet:api']
      const clients = await stage.emqx.unguarded(() =>
        Promise.all(names.map((username) => intruder({ clientId: `x${names.indexOf(username)}`, username }))),
      )
      const [own = '', ...foreign] = ['fleet/x0/telemetry', 'fleet/a/command', 'ingest/0/fleet/a/telemetry']
      for (const client of clients)
        for (const topic of [own, ...foreign]) {
          expect(await codeOf(client.publishAsync(topic, '{}', { qos: 1 }))).toBe(0x87)
          for (const filter of [topic, 'fleet/#', 'ingest/#'])
            expect(await codeOf(client.subscribeAsync(filter, { qos: 1 }))).not.toBe(0)
        }
    })

    test('its session of an ingress cannot be taken over from outside', async () => {
      const broker = await stage.broker(host)
      await until(() => host.heardUpTo.size === LIMITS.partitions, 'every lane to be read')
      await stage.emqx.unguarded(() => intruder({ clientId: 'fleet:ingest:0', clean: false }))
      await settled('1')
      expect(broker.counts().outside).toMatchObject({ lanesOpen: 16, lostSessions: 0 })
    })

    test('who takes a session over acknowledges nothing that counts', async () => {
      await stage.broker(host)
      await settled('0')
      const sender = await stage.broker()
      const device = await stage.device('a', { clean: false })
      await device.subscribeAsync('fleet/a/#', { qos: 1 })
      await until(() => host.listeners.length === 1, 'the subscription')
      await device.endAsync()
      await sender.publish(downlink({}, '{"request_id":"cmd_1"}'))
      const stolen: string[] = []
      await stage.emqx.unguarded(async () => {
        const thief = await intruder({ clean: false, properties: { sessionExpiryInterval: 600 } }, stolen)
        await until(() => stolen.length === 1, 'what waited')
        await thief.endAsync()
      })
      await settled('1')
      expect([stolen, host.deliveries]).toEqual([['fleet/a/command'], []])
      const again = await stage.device('a')
      await again.subscribeAsync('fleet/a/#', { qos: 1 })
      await sender.publish(downlink({}, '{"request_id":"cmd_2"}'))
      await until(() => host.deliveries.length === 1, 'the device’s own')
      expect(host.deliveries).toEqual(['a command cmd_2'])
    })

    test('a device that came then is found once it has started, and is verified when it comes again', async () => {
      await stage.broker(host)
      await settled('0')
      const client = connect(`mqtt://127.0.0.1:${stage.emqx.devicePort}`, {
        clientId: 'a',
        protocolVersion: 5,
        password: 'secret',
        username: 'a',
        reconnectPeriod: 10,
      })
      onTestFinished(() => client.endAsync(true).then(() => undefined))
      client.on('error', () => {})
      const codes: (number | undefined)[] = []
      client.on('connect', () => {
        void codeOf(client.publishAsync('fleet/a/telemetry', '1', { qos: 1 })).then((code) =>
          codes.push(code),
        )
      })
      await until(() => codes.at(-1) === 0, 'the device')
      await stage.emqx.forget()
      await until(() => codes.includes(0x87), 'the moment')
      await until(() => codes.at(-1) === 0, 'the device again')
    })

    test('messages to devices that it refuses are sent again', async () => {
      const sender = await stage.broker()
      const device = await stage.device('b', { reconnectPeriod: 0 })
      const received: string[] = []
      device.on('message', (_, payload) => void received.push(String(payload)))
      await device.subscribeAsync('fleet/b/#', { qos: 1 })
      const wish = { deviceId: deviceId('b'), suffix: 'shadow/desired', retain: true } as const
      const sent = await stage.emqx.unguarded(async () => {
        const first = sender.publish(downlink(wish, 'wish'))
        await until(() => stage.emqx.clientIds().some((id) => id.startsWith('fleet:api:')), 'its connection')
        return { first }
      })
      expect(await sent.first).toBe(true)
      await until(() => received.includes('wish'), 'the message')
    })
  })

  describe.each(['emqx', 'plain'] as const)('a decommission (%s)', (mode) => {
    test('a decommission ends: what clears a device’s messages is no message of it', async () => {
      await stage.close()
      stage = await MqttStage.open({ mode })
      const cutting = new CuttingHost()
      host = cutting
      const broker = await stage.broker(cutting)
      const device = await stage.device('a')
      await device.publishAsync('fleet/a/status', '{"status":"ok"}', { qos: 1, retain: true })
      await device.publishAsync('fleet/a/shadow/reported', '{}', { qos: 1, retain: true })
      await until(() => cutting.texts('a').length === 2, 'its messages')
      let cuts = 0
      cutting.cut = (id) => {
        if (id !== 'a') return
        cuts++
        broker.cut(id, 'revoked')
      }
      // It may be cut before it is told that the message was taken.
      device.publish('fleet/a/telemetry', '1', { qos: 1 })
      await until(() => cuts === 1, 'the cut')
      for (const text of ['1', '2', '3']) {
        await until(() => broker.counts().outside?.downlinksWaiting === 0, 'what clears')
        await settled(text)
      }
      expect([cuts, cutting.texts('a')]).toEqual([1, ['{"status":"ok"}', '{}', '1']])
    })
  })

  test('a session that ends because its token expires is reported as such', async () => {
    await stage.close()
    const expiring = ({ clientId }: { readonly clientId: string }) => ({
      attributes: { device: clientId },
      expiresAt: Date.now() + 300,
    })
    stage = await MqttStage.open({ authenticate: expiring })
    await stage.broker(host)
    const will = { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 1 as const, retain: false }
    await stage.device('a', { will })
    await until(() => host.causes('a').length === 1, 'the end')
    expect([host.causes('a'), host.texts('a')]).toEqual([['expired'], []])
  })

  test('its rules fail on no message of a device', async () => {
    await stage.broker(host)
    const device = await stage.device('a')
    for (const payload of ['no JSON', '', '{"request_id":']) {
      await device.publishAsync('fleet/a/telemetry', payload, { qos: 1 })
      await device.publishAsync('fleet/a/command/ack', payload, { qos: 1 })
    }
    await settled('1')
    await settled('2')
    expect(stage.emqx.exceptions).toBe(0)
  })
})
