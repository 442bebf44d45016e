// An engine in memory for tests of the API: the real device actor, no log, no shards, no time of its own.
import type { Readable } from 'node:stream'
import { MemoryTelemetry } from '../../engine/adapters/telemetry/testing/memory.ts'
import { Directory as People } from '../../engine/adapters/users/directory.ts'
import { MemoryUsers } from '../../engine/adapters/users/testing/memory.ts'
import type { Command } from '../../engine/domain/command/record.ts'
import type { DeviceEvent, DeviceRequest, Effect } from '../../engine/domain/device/events.ts'
import type { Device } from '../../engine/domain/device/record.ts'
import { register, transition } from '../../engine/domain/device/transition.ts'
import type { Author, Shadow } from '../../engine/domain/shadow/record.ts'
import type {
  DependencyHealth,
  DeviceView,
  Engine,
  ExportRequest,
  Metric,
  Signed,
  Snapshot,
  Submitted,
} from '../../engine/index.ts'
import type { AuditEntry, AuditQuery, AuditRow } from '../../engine/ports/audit.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { HistoryFilter, HistoryQuery, HistoryRow } from '../../engine/ports/history.ts'
import type {
  DeadLetter,
  DeadLetterPage,
  DeadLetterQuery,
  DeviceFilter,
  DevicePageQuery,
  Directory,
} from '../../engine/ports/store.ts'
import type { Point, PointsQuery, Series, SeriesQuery } from '../../engine/ports/telemetry.ts'
import type { User } from '../../engine/ports/users.ts'
import type { CommandId, DeviceId, UserId } from '../../schemas/ids.ts'
import { Millis } from '../../schemas/ids.ts'
import { FakeOrders } from './fake-orders.ts'

export class FakeClock implements Clock {
  at: number

  constructor(at: number) {
    this.at = at
  }

  now(): Millis {
    return Millis(this.at)
  }

  ticks(): number {
    return this.at
  }
}

export class FakeEngine implements Engine {
  readonly devices = new FakeDevices()
  readonly snapshots = new Map<DeviceId, Snapshot>()
  readonly lives = new Map<DeviceId, Partial<DeviceView>>()
  readonly letters: DeadLetter[] = []
  readonly users: FakeUsers
  /** What was reported; its points are inserted by themselves. */
  readonly reported: Metric[] = []
  readonly telemetry = new MemoryTelemetry()
  readonly asked: (Omit<SeriesQuery, 'lateHours'> | PointsQuery | ExportRequest)[] = []
  /** While set, questions about the past fail in this way. */
  telemetryFault: Fault | undefined
  /** Newest first, each at a time of its own. */
  readonly rows: HistoryRow[] = []
  readonly askedHistory: HistoryQuery[] = []
  /** What was recorded, refusals that are counted among it. */
  readonly recorded: AuditEntry[] = []
  /** Newest first. */
  readonly auditRows: AuditRow[] = []
  readonly askedAudit: AuditQuery[] = []
  dependencies: readonly DependencyHealth[] = [{ name: 'log', ok: true, detail: '' }]
  /** While set, everything that writes fails. */
  writeFault: Fault | undefined
  /** What submitted requests asked for. */
  readonly effects: Effect[] = []
  /** How long callers wanted to wait for a command. */
  readonly waits: number[] = []
  /** Runs while a caller waits for a command. */
  whileWaiting: (() => Promise<void>) | undefined
  /** While set, a question to the shards fails in this way. */
  bug: unknown
  readonly #clock: FakeClock
  readonly #orders = new FakeOrders(this)

  constructor(clock: FakeClock) {
    this.#clock = clock
    this.users = new FakeUsers(() => this.writeFault)
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    if (this.writeFault !== undefined) throw this.writeFault
    this.recorded.push(...entries)
  }

  recordRefusal(entry: AuditEntry): void {
    this.recorded.push(entry)
  }

  async audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    this.askedAudit.push(query)
    const { before, limit, offset = 0 } = query
    const rows = this.auditRows.filter((row) => before === undefined || row.at < before.at)
    return rows.slice(offset, offset + limit)
  }

  async countAudit(): Promise<number> {
    return this.auditRows.length
  }

  async submit(deviceId: DeviceId, request: DeviceRequest, { by, entry }: Signed): Promise<Submitted> {
    const submitted = await this.#decide(deviceId, request, by)
    const came =
      submitted.kind === 'done'
        ? ({ outcome: 'success', code: undefined } as const)
        : ({ outcome: 'refused', code: submitted.code } as const)
    if (entry !== undefined) this.recorded.push({ ...entry, deviceId, ...came })
    return submitted
  }

  async #decide(deviceId: DeviceId, request: DeviceRequest, by: Author): Promise<Submitted> {
    if (this.writeFault !== undefined) throw this.writeFault
    const before = this.devices.get(deviceId)
    const now = this.#clock.now()
    if (before === undefined && request.kind !== 'register')
      return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
    const outcome =
      before === undefined && request.kind === 'register'
        ? register(deviceId, request, by, now)
        : before && transition(before, { kind: 'requested', request, by }, now)
    if (outcome === undefined) return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
    for (const effect of outcome.effects)
      if (effect.kind === 'refuse') return { kind: 'refused', code: effect.code, detail: effect.detail }
    this.devices.set(deviceId, outcome.device)
    const answered = outcome.effects.find((effect) => effect.kind === 'answer')
    for (const effect of outcome.effects) this.effects.push(effect)
    return {
      kind: 'done',
      view: this.#viewOf(outcome.device),
      command: answered?.command,
      shadow: request.kind === 'desire' ? outcome.device.shadow : undefined,
    }
  }

  /** As if the device had sent it. */
  tell(deviceId: DeviceId, event: DeviceEvent): void {
    const device = this.devices.get(deviceId)
    if (device === undefined) return
    this.devices.set(deviceId, transition(device, event, this.#clock.now()).device)
  }

  now(): Millis {
    return this.#clock.now()
  }

  async shadow(deviceId: DeviceId): Promise<Shadow | undefined> {
    return this.devices.get(deviceId)?.shadow
  }

  async commands(deviceId: DeviceId): Promise<readonly Command[] | undefined> {
    return this.devices.get(deviceId)?.commands.toReversed()
  }

  async awaitCommand(
    deviceId: DeviceId,
    commandId: CommandId,
    timeoutMs: number,
  ): Promise<Command | undefined> {
    this.waits.push(timeoutMs)
    await this.whileWaiting?.()
    return this.devices.get(deviceId)?.commands.find(({ id }) => id === commandId)
  }

  broadcast: Engine['broadcast'] = (request) => this.#orders.broadcast(request)
  broadcastState: Engine['broadcastState'] = (id, page) => this.#orders.broadcastState(id, page)
  cancelBroadcast: Engine['cancelBroadcast'] = (id, by) => this.#orders.cancelBroadcast(id, by)

  async view(deviceId: DeviceId): Promise<DeviceView | undefined> {
    if (this.bug !== undefined) throw this.bug
    const device = this.devices.get(deviceId)
    return device && this.#viewOf(device)
  }

  async views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]> {
    return await Promise.all(deviceIds.map((id) => this.view(id)))
  }

  async snapshot(deviceId: DeviceId): Promise<Snapshot | undefined> {
    return this.devices.has(deviceId)
      ? (this.snapshots.get(deviceId) ?? { data: {}, timestamp: undefined })
      : undefined
  }

  async metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined> {
    return this.devices.has(deviceId) ? this.reported : undefined
  }

  async series(query: Omit<SeriesQuery, 'lateHours'>): Promise<readonly Series[]> {
    this.#ask(query)
    return this.telemetry.series({ ...query, lateHours: [] })
  }

  async points(query: PointsQuery): Promise<readonly Point[]> {
    this.#ask(query)
    return this.telemetry.points(query)
  }

  async exportTelemetry(what: ExportRequest): Promise<Readable> {
    this.#ask(what)
    return this.telemetry.export(
      what.kind === 'series' ? { ...what, query: { ...what.query, lateHours: [] } } : what,
    )
  }

  #ask(question: FakeEngine['asked'][number]): void {
    if (this.telemetryFault !== undefined) throw this.telemetryFault
    this.asked.push(question)
  }

  async history(query: HistoryQuery): Promise<readonly HistoryRow[]> {
    const { deviceId, kinds, before, limit, offset = 0 } = query
    this.askedHistory.push(query)
    return this.rows
      .filter((row) => row.deviceId === deviceId && kinds.includes(row.kind))
      .filter((row) => before === undefined || row.at < before.at)
      .slice(offset, offset + limit)
  }

  async countHistory({ deviceId, kinds }: HistoryFilter): Promise<number> {
    return this.rows.filter((row) => row.deviceId === deviceId && kinds.includes(row.kind)).length
  }

  async deadLetters({ offset, limit, deviceId }: DeadLetterQuery): Promise<DeadLetterPage> {
    const found = this.letters.filter((letter) => deviceId === undefined || letter.deviceId === deviceId)
    return { letters: found.slice(offset, offset + limit), total: found.length }
  }

  readonly feed = { listen: () => () => {}, want: () => {} }
  metrics = async () => 'fleet_up 1\n'
  health = () => this.dependencies
  mqttUrl = () => 'mqtt://localhost:1883'
  async close(): Promise<void> {}

  #viewOf(device: Device): DeviceView {
    return {
      device,
      connected: false,
      connectedSince: undefined,
      connectionReason: undefined,
      sessionId: undefined,
      ip: undefined,
      flapping: false,
      lastSeenAt: device.seenAt,
      lastTelemetryAt: undefined,
      ...this.lives.get(device.id),
    }
  }
}

class FakeUsers extends MemoryUsers {
  readonly #people: People

  constructor(fault: () => Fault | undefined, people = new People()) {
    super(people, async () => {
      const failure = fault()
      if (failure !== undefined) throw failure
    })
    this.#people = people
  }

  /** As it is, whatever is true of it. */
  async put(user: User): Promise<void> {
    this.#people.apply([{ kind: 'user', key: user.id, value: user }])
  }

  /** Whoever it is, the last admin too. */
  forget(id: UserId): void {
    this.#people.apply([{ kind: 'user', key: id }])
  }
}

function unused(): never {
  throw new Fault('STORE_UNAVAILABLE', { retryable: false, message: 'the API does not do this' })
}

/** Devices by id, and the questions that the API asks about them. */
class FakeDevices extends Map<DeviceId, Device> implements Directory {
  known = unused
  countByStatus = unused
  summary = (id: DeviceId) => this.get(id)

  matching(filter: DeviceFilter): readonly DeviceId[] {
    return this.#matching(filter)
      .map(({ id }) => id)
      .sort()
  }

  subDevices(id: DeviceId): readonly DeviceId[] {
    return [...this.values()].flatMap((d) => (d.parentId === id ? [d.id] : []))
  }

  list(filter: DeviceFilter, page: DevicePageQuery) {
    const { offset, limit, sort = 'created_at', descending = sort === 'created_at' } = page
    const found = this.#matching(filter)
    const key = (device: Device) => (sort === 'name' ? device.name : device.createdAt)
    const order = (a: Device, b: Device) =>
      key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id < b.id ? -1 : 1
    found.sort((a, b) => (descending && key(a) !== key(b) ? -order(a, b) : order(a, b)))
    return { devices: found.slice(offset, offset + limit), total: found.length }
  }

  #matching(filter: DeviceFilter): Device[] {
    return [...this.values()].filter((device) => isMatch(device, filter))
  }
}

function isMatch(
  device: Device,
  { status, type, group, groupExact, tags, q, within, parentId }: DeviceFilter,
): boolean {
  const isUnder = (root: string) =>
    device.group === root || (groupExact !== true && device.group?.startsWith(`${root}/`) === true)
  const isPrefix = (text: string) => text.toLowerCase().startsWith(q?.toLowerCase() ?? '')
  return (
    (status === undefined || device.status === status) &&
    (parentId === undefined || device.parentId === parentId) &&
    (type === undefined || device.type === type) &&
    (group === undefined || isUnder(group)) &&
    (tags ?? []).every((tag) => device.tags.includes(tag)) &&
    (isPrefix(device.name) || isPrefix(device.id)) &&
    (within?.some((root) => device.group === root || device.group?.startsWith(`${root}/`)) ?? true)
  )
}
