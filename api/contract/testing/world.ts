// The world of the contract test: the REST layer on an in-memory engine, with one object of each kind. It is reset before
// each request.
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ALL_PARTITIONS } from '../../../engine/domain/partition.ts'
import type { User } from '../../../engine/ports/users.ts'
import type { StandingTime } from '../../../engine/testing/standing-time.ts'
import {
  BroadcastId,
  ChannelId,
  CommandId,
  type DeviceId,
  FirmwareId,
  Micros,
  Millis,
  toIso,
  UserId,
} from '../../../schemas/ids.ts'
import { newSecret } from '../../auth/key-secret.ts'
import { toCursor } from '../../http/cursor.ts'
import { jpeg, png } from '../../routes/testing/pictures.ts'
import { NOW, openHarness } from '../../testing/rest.ts'
import { webhookChannel } from '../../testing/webhook-channel.ts'
import type { TriedRequest } from './requests.ts'
import type { KnownValues } from './valid-values.ts'

const PASSWORD = 'correct horse'
const STEP_MS = 250
/** A request that has no answer after so many turns of the event loop waits for time to pass. */
const TURNS_MAX = 1_000
const FIRMWARE = FirmwareId('fw_1')
const VIEW = {
  ...{ id: 'vw_1', name: 'x', path: '/devices', query: '', isShared: true },
  ...{ createdAt: Millis(NOW), updatedAt: Millis(NOW), revision: 1 },
}
const CONDITION = { kind: 'threshold', metric: 'm', op: '>', value: 0 } as const

export interface World {
  readonly known: KnownValues
  send(request: TriedRequest): ReturnType<ReturnType<typeof openHarness>['request']>
  /** Resets the world before a request. */
  restore(): Promise<void>
  /** A text that stays the same as long as nothing has changed. */
  state(): Promise<string>
}

const [ROBOT, OWN] = ['r' as DeviceId, 'own' as DeviceId]
const PROVISIONING_KEY = `prk_${'0'.repeat(26)}`
/** The provisioning key in the form that the device `own` has. */
const { text: SHOWN_KEY, hash: KEY_HASH } = newSecret({ prefix: 'flp_', idPrefix: 'prk_' }, PROVISIONING_KEY)

/** Longer than any test run, so that nothing expires meanwhile. */
const TIMEOUT_SEC = 604_800

export async function openWorld(): Promise<World> {
  const harness = openHarness()
  const { engine, clock, request, login, device, move, repairs, replaceEngine } = harness
  // Kept when the engine is replaced, because the API holds a reference to it.
  const { blobs } = engine
  move({ state: 'serving' })
  const { user, token } = await login('admin')
  const by = { kind: 'user', id: user.id } as const

  async function furnish(): Promise<void> {
    const robot = await device('r', { group: 'a/b', tags: ['x'] })
    await device('gw', { group: 'a', type: 'gateway' })
    const own = { kind: 'register', name: 'own', type: 'gateway', idempotencyKey: PROVISIONING_KEY } as const
    await engine.submit(OWN, own, { by })
    const old = await device('old', { group: 'a/b' })
    await engine.alerts.change({
      kind: 'create_rule',
      id: 'rul_1',
      wish: { name: 'm', target: { type: 'device', value: 'r' }, condition: CONDITION, channels: [] },
      by: user.id,
    })
    await engine.alerts.change({
      kind: 'create_silence',
      silence: {
        ...{ silence_id: 'sil_1', matchers: { device_id: 'gw' }, windows: [], comment: 'x' },
        ...{ starts_at: NOW, ends_at: NOW + 1e9, created_by: user.id, created_at: NOW, revision: 1 },
      },
    })
    await engine.publish(robot, 'telemetry', { m: 1 })
    await engine.publish(robot, 'status', { status: 'rubbish' })
    await engine.submit(old, { kind: 'decommission' }, { by })
    const wish = { name: 'go', timeoutSec: TIMEOUT_SEC }
    await engine.submit(robot, { kind: 'command', id: CommandId('cmd_1'), wish }, { by })
    await engine.submit(robot, { kind: 'desire', patch: { a: 1 }, mode: 'merge' }, { by })
    // Normally the history gets this a moment later, but time stands still here.
    await engine.remember({
      deviceId: robot,
      kind: 'shadow',
      at: Micros(clock.now() * 1_000),
      version: 1,
      body: {
        ...{ version: 1, section: 'desired', patch: { a: 1 }, previous: { a: null }, request_id: null },
        ...{ timestamp: toIso(clock.now()), actor: { type: by.kind, id: by.id } },
      },
    })
    const broadcastId = BroadcastId('bc_1')
    await engine.broadcast({
      broadcastId,
      group: 'a',
      command: 'go',
      by: user.id,
      timeoutSec: TIMEOUT_SEC,
    })
    await engine.channels({ op: 'create', id: ChannelId('ch_1'), settings: webhookChannel, by: user.id })
    await engine.channels({ op: 'test', id: ChannelId('ch_1'), name: '1' })
    await engine.remember({
      deviceId: robot,
      kind: 'status',
      at: Micros(NOW * 1_000),
      version: 1,
      body: { from: 'provisioning', to: 'online', cause: 'heartbeat' },
    })
  }
  async function furnishFirmware(): Promise<void> {
    const { firmware } = engine
    if (firmware.get(FIRMWARE)?.revision === 1) return
    await firmware.remove({ id: FIRMWARE, revision: undefined, force: true })
    const stored = await firmware.storeImage(Readable.from([Buffer.from('image')]), 100)
    if (stored.kind !== 'stored') throw new Error('the image was not stored')
    const { key: imageKey, bytes: sizeBytes, sha256 } = stored.image
    const about = {
      version: '1.0.0',
      deviceType: 'mqtt_device',
      changelog: '',
      filename: 'x',
      contentType: 'a/b',
    }
    const without = { signature: undefined, signatureVerified: undefined, minFromVersion: undefined }
    const image = { imageKey, sizeBytes, sha256 }
    await firmware.add({
      ...about,
      ...without,
      ...image,
      id: FIRMWARE,
      fromVersions: [],
      reportsAs: '1.0.0',
      uploadedBy: user.id,
    })
  }
  async function devices(): Promise<string> {
    const kept: unknown[] = []
    for await (const batch of engine.store.load(ALL_PARTITIONS))
      kept.push(...batch.map(({ device: record, parts, commands }) => [record, parts, commands]))
    return JSON.stringify(kept)
  }
  await furnish()
  await furnishFirmware()
  await repairs.start({})
  const other: User = { ...user, id: UserId('usr_else'), email: 'else@example.com', role: 'viewer' }
  await engine.users.put(other)
  const key = {
    id: UserId('key_1'),
    name: 'x',
    role: 'viewer',
    groups: [],
    createdAt: Millis(NOW),
    createdBy: user.id,
    expiresAt: undefined,
    lastUsedAt: undefined,
    secretHash: 'hash of a secret',
  } as const
  const provisioningKey = {
    ...{ id: UserId(PROVISIONING_KEY), name: 'x', secretHash: KEY_HASH, deviceType: 'mqtt_device' },
    ...{ group: undefined, idPattern: undefined, needsApproval: true, devicesMax: 2, taken: 1 },
    claims: [{ deviceId: ROBOT, status: 'pending', at: Millis(NOW), ip: '10.0.0.1' }],
    ...{ createdAt: Millis(NOW), createdBy: user.id, expiresAt: Millis(NOW + 1e12) },
  } as const
  const signedIn = await request('POST /api/v1/auth/login', {
    body: { email: other.email, password: PASSWORD },
  })
  const renewable = await request('POST /api/v1/auth/devices/token', { token, body: { device_id: 'r' } })
  const own = await request('POST /api/v1/auth/session', {
    headers: { 'sec-fetch-site': 'same-origin' },
    body: { email: user.email, password: PASSWORD },
  })
  let cookie = String(own.headers['set-cookie'])
  const [session] = engine.users.grantsOf(user.id)
  const people = engine.users.list()
  let furnished = await devices()

  return {
    known: {
      device_id: ['r', 'r', 'gw', 'old', 'own'],
      key: [SHOWN_KEY],
      user_id: [other.id],
      key_id: [key.id],
      provisioning_key_id: [provisioningKey.id],
      waiting_id: ['r'],
      id_pattern: ['r*'],
      cmd_id: ['cmd_1'],
      broadcast_id: ['bc_1'],
      channel_id: ['ch_1'],
      delivery_id: ['del_alt_test_1_1_fired_0_ch_1'],
      fallback_channel_id: [null],
      url: ['https://hooks.example.com/'],
      webhook_url: ['https://hooks.slack.com/services/x'],
      headers: [{ 'x-a': 'b' }],
      template: ['{"text":"{{alert.message}}"}'],
      code: ['not-found'],
      firmware_id: [FIRMWARE],
      device_type: ['mqtt_device'],
      firmware_version: ['1.0.0'],
      target: [{ type: 'device', value: 'r' }],
      condition: [CONDITION],
      rule_id: ['rul_1'],
      silence_id: ['sil_1'],
      alert_id: (await engine.alerts.list({ states: ['firing'], limit: 1 })).alerts.map(
        ({ alert_id: id }) => id,
      ),
      group: ['a', 'a/b'],
      type: ['mqtt_device', 'gateway'],
      parent_id: ['gw'],
      tag: [['x']],
      email: [other.email, 'new@example.com'],
      password: [PASSWORD],
      current_password: [PASSWORD],
      mqtt_token: [renewable.body.mqtt_token],
      refresh_token: [signedIn.body.refresh_token],
      session_id: [session?.family],
      view_id: [VIEW.id],
      path: ['/api/v1/devices/export?format=csv'],
      letter_id: (await engine.deadLetters({ offset: 0, limit: 9 })).letters.map(({ id }) => id),
      cursor: [toCursor({ at: Micros(NOW * 1_000), version: 7 })],
      from: [new Date(NOW - 3_600_000).toISOString(), '2026-03-01'],
      to: [new Date(NOW).toISOString()],
      expires_at: [new Date(NOW + 1e9).toISOString()],
      interval: ['1m', '1h'],
      agg: [['avg,p95']],
      tz: ['Europe/Berlin'],
      metric: ['m'],
      status: ['maintenance', 'online', ['pending']],
      wait: [0],
      picture: [png(1, 1), jpeg(1, 1)].map((picture) => picture.toString('base64')),
      left: [-1],
      bottom: [-1],
      right: [1],
      top: [1],
      at_version: [0, 1],
      to_version: [0, 1],
    },

    async send({ method, url, headers, body, hasToken }) {
      clock.at += STEP_MS
      const bearer = hasToken ? { token } : {}
      const call = { ...bearer, headers: { ...headers, cookie }, body }
      const answer = await passTime(clock, request(`${method} ${url}`, call))
      cookie = String(answer.headers['set-cookie'] ?? cookie)
      return answer
    },

    async restore() {
      if ((await devices()) !== furnished) {
        replaceEngine()
        await furnish()
        furnished = await devices()
      }
      await furnishFirmware()
      for (const { id } of engine.users.list())
        if (!people.some((one) => one.id === id)) engine.users.forget(id)
      for (const person of people) await engine.users.put(person)
      for (const { id } of engine.users.listKeys()) if (id !== key.id) await engine.users.removeKey(id)
      if (engine.users.getKey(key.id) === undefined) await engine.users.addKey(key)
      for (const { id } of engine.users.listProvisioningKeys()) await engine.users.removeProvisioningKey(id)
      await engine.users.addProvisioningKey(provisioningKey)
      for (const { id } of engine.users.listViews()) await engine.users.removeView(id)
      await engine.users.addView({ ...VIEW, owner: user.id })
      engine.recorded.length = 0
    },

    state: async () =>
      JSON.stringify([
        await devices(),
        await blobs.head('floor-plan'),
        engine.users.list(),
        engine.users.listKeys(),
        engine.users.listProvisioningKeys(),
        engine.users.listViews(),
        engine.users.getPreferences(user.id),
      ]),
  }
}

/** Lets time pass while the work waits for it. */
async function passTime<T>(clock: StandingTime, work: Promise<T>): Promise<T> {
  let isDone = false
  const end = work.finally(() => {
    isDone = true
  })
  for (let turns = 1; !isDone; turns++) {
    await nextTurn()
    if (turns % TURNS_MAX === 0) clock.at += STEP_MS
  }
  return end
}
