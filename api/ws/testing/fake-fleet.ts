// A fleet for tests: devices, people and a feed that the test drives, and a clock that only the test moves.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fitsQuery, isInGroups } from '../../../engine/domain/alert/found.ts'
import { auditRow } from '../../../engine/domain/audit/entry.ts'
import { createCommand } from '../../../engine/domain/command/create.ts'
import { type Command, type Commands, NO_COMMANDS } from '../../../engine/domain/command/record.ts'
import type { DeviceRecord } from '../../../engine/domain/device/record.ts'
import { type WrittenRow, writtenRow } from '../../../engine/domain/history/row.ts'
import type { Deployment } from '../../../engine/domain/ota/deployment.ts'
import { NEW_SHADOW, type Shadow } from '../../../engine/domain/shadow/record.ts'
import { setDesired } from '../../../engine/domain/shadow/write.ts'
import type { DeviceView, FeedEvent, Snapshot } from '../../../engine/index.ts'
import type { DeploymentEvent } from '../../../engine/ports/deployments.ts'
import { FLEET, type Wants } from '../../../engine/ports/feed.ts'
import type { HistoryKind, HistoryRow } from '../../../engine/ports/history.ts'
import type { DeviceFilter } from '../../../engine/ports/store.ts'
import type { User, UserListener } from '../../../engine/ports/users.ts'
import { CommandId, type DeviceId, Micros, Millis, parseDeviceId, UserId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Authenticated } from '../../auth/authenticate.ts'
import { isInScope } from '../../auth/scope.ts'
import { API_LIMITS } from '../../limits.ts'
import { createWorkBudget } from '../../rates/work-budget.ts'
import { openSockets, type Sockets, type SocketsOptions } from '../sockets.ts'
import { FakeTable } from './fake-table.ts'
import { FakeTime, START } from './fake-time.ts'
import { type Dial, dial, type RawClient } from './raw-client.ts'

export function id(text: string): DeviceId {
  const parsed = parseDeviceId(text)
  if (parsed === undefined) throw new Error(`not a device id: ${text}`)
  return parsed
}

const unused = () => {
  throw new Error('/ws does not ask this')
}
const UNUSED = { known: unused, subDevices: unused, matching: unused, countByStatus: unused }
const UNUSED_DEPLOYMENTS = { create: unused, plan: unused, get: unused, act: unused, members: unused }
const UNUSED_ALERTS = { rules: unused, silences: unused, change: unused, counts: unused, actOnFleet: unused }

export class FakeFleet {
  readonly time = new FakeTime()
  readonly table = new FakeTable(() => this.time.ticks())
  readonly #userListeners = new Set<UserListener>()
  readonly views = new Map<DeviceId, DeviceView>()
  readonly snapshots = new Map<DeviceId, Snapshot>()
  readonly shadows = new Map<DeviceId, Shadow>()
  readonly commands = new Map<DeviceId, Commands>()
  readonly people = new Map<string, User>()
  readonly wishes: Wants[] = []
  /** Newest first. */
  readonly rows: HistoryRow[] = []
  /** Newest first. */
  readonly audited: WrittenRow[] = []
  readonly tickets = new Map<string, string>()
  readonly deployments: Deployment[] = []
  readonly alerts: JsonObject[] = []
  readonly #deploymentListeners = new Set<(event: DeploymentEvent) => void>()
  readonly #listeners = new Set<(events: readonly FeedEvent[]) => void>()
  /** Runs before a snapshot or views are answered. */
  beforeAnswer: () => Promise<void> = async () => {}
  /** Runs when they are made up, before they reach who asked. */
  afterAnswer: () => void = () => {}

  addDevice(name: string, about: Partial<DeviceRecord> = {}): DeviceView {
    const device: DeviceRecord = {
      id: id(name),
      name,
      type: 'mqtt_device',
      description: undefined,
      group: undefined,
      tags: [],
      metadata: {},
      parentId: undefined,
      status: 'provisioning',
      statusReason: undefined,
      statusSince: START,
      tokensValidFrom: START,
      firmwareVersion: undefined,
      issues: [],
      seenAt: undefined,
      createdAt: START,
      createdBy: 'usr_a',
      updatedAt: START,
      revision: 1,
      ...about,
    }
    const view: DeviceView = {
      device,
      connected: false,
      connectedSince: undefined,
      connectionReason: undefined,
      sessionId: undefined,
      ip: undefined,
      flapping: false,
      lastSeenAt: undefined,
      lastTelemetryAt: undefined,
    }
    this.views.set(device.id, view)
    return view
  }

  tellChanged(...users: readonly User[]): void {
    const changed = new Set(users.map(({ id }) => id))
    for (const listener of this.#userListeners) listener(changed)
  }

  addUser(name: string, about: Partial<User> = {}): User {
    const user: User = {
      id: UserId(`usr_${name}`),
      email: `${name}@example.com`,
      name,
      role: 'admin',
      groups: [],
      passwordHash: '',
      disabled: false,
      createdAt: START,
      lastLoginAt: undefined,
      tokensValidFrom: START,
      ...about,
    }
    this.people.set(user.id, user)
    return user
  }

  /** Changes a device and tells of it. */
  edit(name: string, about: Partial<DeviceRecord>): FeedEvent {
    const before = this.views.get(id(name)) ?? this.addDevice(name)
    const device = { ...before.device, ...about, revision: before.device.revision + 1 }
    const view = { ...before, device }
    this.views.set(device.id, view)
    return { kind: 'device', event: 'device.status', at: this.time.now(), view }
  }

  report(name: string, data: JsonObject, at = this.time.now()): FeedEvent {
    const before = this.snapshots.get(id(name))
    const timestamp = Millis(Math.max(at, before?.timestamp ?? 0))
    this.snapshots.set(id(name), { data: { ...before?.data, ...data }, timestamp })
    return { kind: 'telemetry', deviceId: id(name), at, data }
  }

  /** Changes what is desired of a device and tells of it. */
  desire(name: string, patch: JsonObject): FeedEvent {
    const deviceId = id(name)
    const now = this.time.now()
    const by = { kind: 'user', id: 'usr_a' } as const
    const outcome = setDesired(this.shadows.get(deviceId) ?? NEW_SHADOW, patch, { mode: 'merge', now, by })
    if (outcome.kind !== 'changed') throw new Error(`not changed: ${outcome.kind}`)
    this.shadows.set(deviceId, outcome.shadow)
    return { kind: 'shadow', event: 'shadow.updated', deviceId, at: now, change: outcome.change }
  }

  /** A new command, or one whose status is moved by hand, and what is told of it. */
  command(name: string, command: string, about: Partial<Command> = {}): FeedEvent {
    const deviceId = id(name)
    const at = this.time.now()
    const before = this.commands.get(deviceId) ?? NO_COMMANDS
    const creation = { id: CommandId(command), by: 'usr_a', now: at }
    const known = before.find((each) => each.id === command)
    const fresh = known ?? create(creation)
    const moved = { ...fresh, ...about }
    this.commands.set(deviceId, [...before.filter((each) => each !== known), moved])
    return { kind: 'command', event: 'command.status', deviceId, at, command: moved }
  }

  /** A row of a device's history, as it is told; `rows` has it too. */
  row(name: string, kind: HistoryKind, body: JsonObject): FeedEvent {
    const at = this.time.now()
    const deviceId = id(name)
    const written: HistoryRow = { deviceId, kind, at: Micros(at * 1000), version: this.rows.length, body }
    this.rows.unshift(written)
    const row = writtenRow(written)
    if (kind === 'log') return { kind: 'log', event: 'device.log', deviceId, at, row }
    const events = { command: 'command.status', shadow: 'shadow.updated' } as const
    const event = kind === 'command' || kind === 'shadow' ? events[kind] : 'device.status'
    return { kind: 'timeline', event, deviceId, at, row }
  }

  /** An entry of the audit, as it is told; `audited` has it too. */
  audit(action: string, name?: string): FeedEvent {
    const at = this.time.now()
    const deviceId = name === undefined ? undefined : id(name)
    const entry = { actor: { type: 'anonymous' }, action, deviceId, outcome: 'refused' } as const
    const row = auditRow(entry, { at, number: this.audited.length, count: 1 })
    this.audited.unshift(row)
    return { kind: 'audit', event: 'audit.recorded', deviceId: deviceId ?? FLEET, at, row }
  }

  tell(...events: readonly FeedEvent[]): void {
    for (const listener of this.#listeners) listener(events)
  }

  tellDeployment(event: DeploymentEvent['event'], deployment: Deployment): void {
    const told = { kind: 'deployment', event, at: this.time.now(), deployment, previous: undefined } as const
    for (const listener of this.#deploymentListeners) listener(told)
  }

  /** A token is `<user>`, `<user>:<seconds to live>` or `<user>:never`. */
  authenticate = async (token: string): Promise<Authenticated> => {
    const [name, seconds = '3600'] = token.split(':')
    const user = this.people.get(`usr_${name}`)
    if (user === undefined) return { kind: 'refused', code: 'UNAUTHENTICATED', detail: {} }
    const current = () => {
      const now = this.people.get(user.id)
      const isValid = now !== undefined && !now.disabled && now.tokensValidFrom <= user.tokensValidFrom
      return isValid ? now : undefined
    }
    const expiresAt = seconds === 'never' ? undefined : Millis(this.time.now() + Number(seconds) * 1000)
    return { kind: 'user', user, expiresAt, current }
  }

  redeemTicket = async (ticket: string): Promise<Authenticated> => {
    const token = this.tickets.get(ticket) ?? 'nobody'
    this.tickets.delete(ticket)
    return this.authenticate(token)
  }

  readonly users: SocketsOptions['users'] = {
    onChange: (listener) => {
      this.#userListeners.add(listener)
      return () => this.#userListeners.delete(listener)
    },
  }

  get engine(): SocketsOptions['engine'] {
    const view = (device: DeviceId) => this.views.get(device)
    return {
      feed: {
        listen: (listener) => {
          this.#listeners.add(listener)
          return () => this.#listeners.delete(listener)
        },
        want: (wants) => this.wishes.push(wants),
      },
      views: async (ids) => {
        await this.beforeAnswer()
        const views = ids.map(view)
        this.afterAnswer()
        return views
      },
      snapshot: async (device) => {
        await this.beforeAnswer()
        const snapshot = this.snapshots.get(device) ?? { data: {}, timestamp: undefined }
        this.afterAnswer()
        return snapshot
      },
      deployments: {
        ...UNUSED_DEPLOYMENTS,
        listen: (listener) => {
          this.#deploymentListeners.add(listener)
          return () => this.#deploymentListeners.delete(listener)
        },
        list: async () => this.deployments.map((deployment) => ({ deployment, held: {}, window: 1 })),
      },
      shadow: async (device) => {
        await this.beforeAnswer()
        const shadow = this.views.has(device) ? (this.shadows.get(device) ?? NEW_SHADOW) : undefined
        this.afterAnswer()
        return shadow
      },
      commands: async (device) => {
        await this.beforeAnswer()
        const commands = this.views.has(device) ? (this.commands.get(device) ?? NO_COMMANDS) : undefined
        this.afterAnswer()
        return commands?.toReversed()
      },
      audit: async ({ deviceId, limit }) =>
        this.audited
          .filter((row) => deviceId === undefined || row.deviceId === deviceId)
          .slice(0, limit)
          .map(({ at, version, body }) => ({ at, version, body: JSON.parse(body) })),
      history: async ({ deviceId, kinds, limit }) => {
        await this.beforeAnswer()
        const rows = this.rows.filter((row) => row.deviceId === deviceId && kinds.includes(row.kind))
        this.afterAnswer()
        return rows.slice(0, limit)
      },
      fleetHistory: async ({ deviceIds, kinds, limit }) => {
        await this.beforeAnswer()
        const rows = this.rows.filter(
          (row) => (deviceIds?.includes(row.deviceId) ?? true) && kinds.includes(row.kind),
        )
        this.afterAnswer()
        return rows.slice(0, limit)
      },
      fleet: this.table,
      alerts: {
        ...UNUSED_ALERTS,
        list: async (query) => {
          const alerts = this.alerts.filter((alert) => {
            const group = typeof alert['group'] === 'string' ? alert['group'] : undefined
            return isInGroups(group, query) && fitsQuery(alert, query)
          })
          return { total: alerts.length, alerts }
        },
      },
      devices: {
        ...UNUSED,
        get: (device) => view(device)?.device,
        summary: (device) => view(device)?.device,
        matching: (filter) => {
          const devices = [...this.views.values()].map(({ device }) => device)
          return devices.filter((d) => isListed(d, filter)).map(({ id: deviceId }) => deviceId)
        },
        list: (filter, { offset, limit }) => {
          const devices = [...this.views.values()]
            .map(({ device }) => device)
            .filter((d) => isListed(d, filter))
          return { devices: devices.slice(offset, offset + limit), total: devices.length }
        },
      },
    }
  }
}

export interface FakeService {
  readonly fleet: FakeFleet
  readonly sockets: Sockets
  readonly port: number
  dial(about?: Partial<Dial>): Promise<RawClient>
  /** Connected and authenticated. */
  login(token: string): Promise<RawClient>
  close(): Promise<void>
}

export async function openFakeService(
  limits: Partial<{ readonly [Name in keyof typeof API_LIMITS]: number }> = {},
  options: Partial<SocketsOptions> = {},
): Promise<FakeService> {
  const fleet = new FakeFleet()
  const sockets = await openSockets({
    engine: fleet.engine,
    users: fleet.users,
    authenticate: fleet.authenticate,
    redeemTicket: fleet.redeemTicket,
    clock: fleet.time,
    work: createWorkBudget({ perSec: 0, clock: fleet.time, shares: undefined }),
    schedule: fleet.time,
    limits: { ...API_LIMITS, ...limits },
    heartbeatTimeoutMs: 60_000,
    ...options,
  })
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`))
  })
  sockets.attach(http)
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve)
  })
  // A server that listens on TCP has such an address.
  const { port } = http.address() as AddressInfo
  const clients: RawClient[] = []
  const open = async (about: Partial<Dial> = {}) => {
    const client = await dial({ port, ...about })
    clients.push(client)
    return client
  }
  return {
    fleet,
    sockets,
    port,
    dial: open,
    login: async (token) => {
      const client = await open({ protocols: `fleet.v1, bearer.${token}` })
      await client.next('auth_ok')
      return client
    },
    close: async () => {
      for (const client of clients) client.close()
      await sockets.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

function create(creation: Parameters<typeof createCommand>[2]): Command {
  const outcome = createCommand(NO_COMMANDS, { name: 'go' }, creation)
  if (outcome.kind !== 'created') throw new Error(`not created: ${outcome.kind}`)
  return outcome.command
}

function isListed(device: DeviceRecord, { group, type, tags, within }: DeviceFilter): boolean {
  return (
    isInScope(device.group, within) &&
    (group === undefined || isInScope(device.group, [group])) &&
    (type === undefined || device.type === type) &&
    (tags ?? []).every((tag) => device.tags.includes(tag))
  )
}
