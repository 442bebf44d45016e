// Provides an admin and devices for the scripts. k6 runs these files unprocessed, so they can import only files of this
// folder.
import { check, fail } from 'k6'
import http from 'k6/http'

export interface Account {
  readonly base: string
  readonly token: string
  readonly devices: readonly string[]
}

const DEVICES = 20
const JSON_BODY = { 'Content-Type': 'application/json' }

/** Used in k6's `setup`. Creates an account if registration is open; otherwise set FLEET_EMAIL and FLEET_PASSWORD. */
export function openAccount(): Account {
  const base = `${__ENV['FLEET_URL'] ?? 'http://localhost:8000'}/api/v1`
  const email = __ENV['FLEET_EMAIL'] ?? 'k6@fleet.example'
  const password = __ENV['FLEET_PASSWORD'] ?? `k6-${Math.random().toString(36).slice(2)}-password`
  if (__ENV['FLEET_EMAIL'] === undefined) {
    const account = { email: `${Date.now()}.${email}`, password, name: 'k6', role: 'admin' }
    const registered = http.post(`${base}/auth/register`, JSON.stringify(account), { headers: JSON_BODY })
    if (registered.status !== 201)
      fail(`no account: set FLEET_EMAIL and FLEET_PASSWORD (${registered.status})`)
    return withDevices(base, login(base, account.email, password))
  }
  return withDevices(base, login(base, email, password))
}

export function bearer(token: string): Record<string, string> {
  return { ...JSON_BODY, Authorization: `Bearer ${token}` }
}

function login(base: string, email: string, password: string): string {
  const reply = http.post(`${base}/auth/login`, JSON.stringify({ email, password }), { headers: JSON_BODY })
  if (!check(reply, { 'logged in': ({ status }) => status === 200 })) fail(`login: ${reply.status}`)
  return String(reply.json('access_token'))
}

function withDevices(base: string, token: string): Account {
  const stamp = Date.now().toString(36)
  const devices = Array.from({ length: DEVICES }, (_, at) => `k6-${stamp}-${at}`)
  for (const id of devices) {
    const device = { device_id: id, name: id, type: 'simulator', group: 'k6' }
    const reply = http.post(`${base}/devices`, JSON.stringify(device), { headers: bearer(token) })
    if (reply.status !== 201) fail(`device ${id}: ${reply.status}`)
  }
  return { base, token, devices }
}
