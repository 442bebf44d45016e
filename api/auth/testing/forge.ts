// Makes tokens by hand, for tests that forged tokens are refused and valid ones are not.
import { createHmac } from 'node:crypto'
import { decodeJwt } from 'jose'
import { type DeviceId, parseDeviceId } from '../../../schemas/ids.ts'
import { type HarnessOptions, openHarness, SECRET } from '../../testing/rest.ts'

/** Makes a token, signed with the right secret by default. */
export function forge(
  payload: unknown,
  header: object = { alg: 'HS256', typ: 'at+jwt' },
  key = SECRET,
): string {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const head = `${base64(JSON.stringify(header))}.${base64(text)}`
  return `${head}.${createHmac('sha256', key).update(head).digest('base64url')}`
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64url')

export function deviceId(text: string): DeviceId {
  const id = parseDeviceId(text)
  if (id === undefined) throw new Error(text)
  return id
}

/** An admin with a valid token, and a device. */
export async function openWithAdmin(options: HarnessOptions = {}) {
  const harness = openHarness(options)
  const { user, token } = await harness.login('admin')
  await harness.device('r')
  return { ...harness, user, token, claims: decodeJwt(token) }
}
