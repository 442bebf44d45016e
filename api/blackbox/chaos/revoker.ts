// Makes users and devices, lets them work for a while, revokes what they hold at any node, and then lets them go on trying
// for longer than any node may take to know it.
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { unreachable } from '../../../engine/domain/unreachable.ts'
import { ChaosDevice, type DeviceOptions } from './chaos-device.ts'
import { type ApiNode, ask, type Request } from './client.ts'
import type { Revocation, TriedCall } from './live-recording.ts'

const WORKS_MS = 2_000
const TRIES_MS = 25_000
const PAUSE_MS = 500
const HANDSHAKE_MS = 10_000
const STEP_MS = 1_000
/** Its messages with a time of their own are an hour old. */
const AGE_MS = 3_600_000
const PASSWORD = 'until it is revoked'
const HOWS = ['the lock', 'the deletion', 'the new password', 'the logout'] as const
/** Answers of a try that follows one without an answer, which had its effect. */
const DONE_BEFORE = [401, 404, 409]

export interface RevokerOptions extends Pick<DeviceOptions, 'dice' | 'recorder' | 'address'> {
  /** The access token of an admin. */
  readonly token: string
  readonly nodes: readonly ApiNode[]
  /** Registers a device and resolves with its token. */
  readonly register: (id: string) => Promise<string>
}

interface Leaver {
  readonly id: string
  readonly token: string
}

export class Revoker {
  readonly #options: RevokerOptions
  readonly #devices = new Set<ChaosDevice>()
  #made = 0
  #isStopped = false

  constructor(options: RevokerOptions) {
    this.#options = options
  }

  stop(): void {
    this.#isStopped = true
  }

  /** One user and one device at a time. */
  async run(): Promise<void> {
    await Promise.all([
      this.#repeat((n) => this.#revokeUser(n)),
      this.#repeat((n) => this.#revokeDevice(`leaver-${n}`)),
    ])
  }

  close(): void {
    for (const device of this.#devices) device.close()
  }

  async #repeat(act: (n: number) => Promise<void>): Promise<void> {
    while (!this.#isStopped) await act(this.#made++)
  }

  async #revokeUser(n: number): Promise<void> {
    const { recorder } = this.#options
    const [email, how] = [`leaver-${n}@example.com`, HOWS[Math.floor(n / 2) % HOWS.length] ?? HOWS[0]]
    const user = await this.#enter(email)
    if (user === undefined) return
    const calls: TriedCall[] = []
    const socket = await this.#listen(user.token)
    const about = { kind: 'user', name: email, how, calls } as const
    const revocation: Revocation = socket === undefined ? { ...about } : { ...about, socket }
    recorder.revocations.push(revocation)
    await this.#tryFor(WORKS_MS, user.token, calls)
    if (!(await this.#insist(...this.#revoking(how, user)))) return
    revocation.revokedAt = recorder.now()
    await this.#tryFor(TRIES_MS, user.token, calls)
  }

  async #revokeDevice(id: string): Promise<void> {
    const { recorder, register, dice, address, token: admin } = this.#options
    const token = await register(id)
    const firstAt = Date.now() - AGE_MS
    const about = { id, token, dice, recorder, address }
    const device = new ChaosDevice({ ...about, perSecond: 2, firstAt, stepMs: STEP_MS })
    this.#devices.add(device)
    const { sessions } = device
    const revocation: Revocation = { kind: 'device', name: id, how: 'the revocation', calls: [], sessions }
    recorder.revocations.push(revocation)
    await this.#pass(WORKS_MS)
    if (!(await this.#insist({ method: 'POST', path: `/auth/devices/${id}/revoke` }, admin))) return
    revocation.revokedAt = recorder.now()
    await this.#pass(TRIES_MS)
    device.close()
    this.#devices.delete(device)
  }

  /** Undefined if the run is over before there is an answer. */
  async #enter(email: string): Promise<Leaver | undefined> {
    const login = { email, password: PASSWORD }
    const about = { ...login, name: email, role: 'operator' }
    await this.#insist({ method: 'POST', path: '/auth/register', body: about }, '')
    const entered = await this.#insist({ method: 'POST', path: '/auth/login', body: login }, '')
    const token = String(entered?.body['access_token'])
    const me = await this.#insist({ method: 'GET', path: '/auth/me' }, token)
    const id = me?.body['id']
    return typeof id === 'string' ? { id, token } : undefined
  }

  /** Resolves with the socket once it is logged in, and with undefined if it ends before. */
  #listen(token: string): Promise<Revocation['socket']> {
    const { recorder } = this.#options
    const node = this.#pick()
    const seen: NonNullable<Revocation['socket']> = { node: node.name }
    const socket = new WebSocket(`${node.url().replace(/^http/, 'ws')}/ws`, {
      handshakeTimeout: HANDSHAKE_MS,
    })
    socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
    // It is followed by 'close'.
    socket.on('error', () => undefined)
    return new Promise((resolve) => {
      socket.on('message', () => resolve(seen))
      socket.on('close', () => {
        seen.closedAt = recorder.now()
        resolve(undefined)
      })
    })
  }

  async #tryFor(ms: number, token: string, calls: TriedCall[]): Promise<void> {
    const { nodes, recorder } = this.#options
    for (const until = performance.now() + ms; performance.now() < until && !this.#isStopped; ) {
      for (const { name, url } of nodes) {
        const from = recorder.now()
        const asked = ask(url(), token, { method: 'GET', path: '/devices?per_page=1' })
        const answer = await asked.catch(() => undefined)
        if (answer !== undefined) calls.push({ node: name, from, status: answer.status })
      }
      await sleep(PAUSE_MS)
    }
  }

  #revoking(how: (typeof HOWS)[number], { id, token }: Leaver): readonly [Request, string] {
    const { token: admin } = this.#options
    const path = `/users/${id}`
    switch (how) {
      case 'the lock':
        return [{ method: 'PATCH', path, body: { disabled: true } }, admin]
      case 'the deletion':
        return [{ method: 'DELETE', path }, admin]
      case 'the new password':
        return [{ method: 'PATCH', path, body: { password: `${PASSWORD}, now` } }, admin]
      case 'the logout':
        return [{ method: 'POST', path: '/auth/logout', body: {} }, token]
      default:
        return unreachable(how)
    }
  }

  /** Repeats a request at any node until it is answered. Resolves with undefined if the run is over before. */
  async #insist(request: Request, token: string) {
    while (!this.#isStopped) {
      const answer = await ask(this.#pick().url(), token, request).catch(() => undefined)
      if (answer !== undefined && (answer.status < 300 || DONE_BEFORE.includes(answer.status))) return answer
      if (answer !== undefined && answer.status < 500 && answer.status !== 429)
        throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.text}`)
      await sleep(PAUSE_MS)
    }
    return undefined
  }

  async #pass(ms: number): Promise<void> {
    for (const until = performance.now() + ms; performance.now() < until && !this.#isStopped; )
      await sleep(PAUSE_MS)
  }

  #pick(): ApiNode {
    const { nodes, dice } = this.#options
    const node = nodes[Math.floor(dice() * nodes.length)]
    if (node === undefined) throw new Error('no node serves REST')
    return node
  }
}
