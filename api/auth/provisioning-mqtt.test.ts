import { expect, test } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { refused } from '../refusal.ts'
import type { Provisioning } from './provisioning.ts'
import { admitWithKey } from './provisioning-mqtt.ts'

const deviceId = parseDeviceId('robot-1') ?? expect.fail()

/** The answer to a device's request, and the name under which the device was registered. */
async function ask(payload: string | Uint8Array, provision: Provisioning['provision']) {
  const names: (string | undefined)[] = []
  const provisioning: Provisioning = {
    // Only the kind of the record is read.
    check: async () => ({}) as never,
    provision: (wish) => {
      names.push(wish.name)
      return provision(wish)
    },
  }
  const wish = { key: 'flp_x', deviceId, ip: '10.0.0.1' }
  const admission = await admitWithKey({ provisioning, mqttUrl: () => 'mqtt://here' }, wish)
  if (admission.kind !== 'provisioning') return expect.fail(admission.kind)
  const { suffix, payload: told } = await admission.ask(Buffer.from(payload))
  return { suffix, body: JSON.parse(Buffer.from(told).toString()), names }
}

test('an empty message and an object with a name ask for a registration', async () => {
  const refuse = async () => refused('PROVISIONING_PENDING', { retry_after_sec: 30 })
  const answer = { code: 'PROVISIONING_PENDING', status: 409, retry_after_sec: 30 }
  expect(await ask('', refuse)).toMatchObject({
    ...{ suffix: 'provision/rejected', names: [undefined] },
    body: { ...answer, advice: expect.any(String), detail: 'The device waits for approval' },
  })
  const named = await ask('{"name":"Robot 1","client_token":"t1","more":1}', refuse)
  expect(named).toMatchObject({ names: ['Robot 1'], body: { ...answer, client_token: 't1' } })
})

test('an invalid message is refused, and takes no place', async () => {
  const never = () => expect.fail('nobody was to be registered')
  for (const payload of ['[]', '"x"', '{', 'null', Buffer.from([0xff, 0x22])])
    expect((await ask(payload, never)).body).toMatchObject({ code: 'BAD_REQUEST', status: 400 })
  for (const payload of ['{"name":""}', '{"name":7}', '{"name":"a\\nb"}', `{"name":"${'x'.repeat(257)}"}`])
    expect((await ask(payload, never)).body).toMatchObject({ code: 'VALIDATION_FAILED' })
  expect((await ask('{"client_token":7}', never)).body).toMatchObject({ code: 'VALIDATION_FAILED' })
})

test('a device is told to retry while the store is unavailable', async () => {
  const away = () => Promise.reject(new Fault('STORE_UNAVAILABLE', { retryable: true }))
  expect((await ask('{"__proto__":{"name":"x"}}', away)).body).toMatchObject({
    ...{ code: 'DEPENDENCY_UNAVAILABLE', retry_after_sec: expect.any(Number) },
  })
})
