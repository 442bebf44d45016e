// The engine in memory, for tests of the API: the real engine with one shard in this thread, adapters without disks and
// sockets, and the test's own time. Tests inject faults by replacing a method of a port.
import { MemoryBlobs } from '../../engine/adapters/blobs/testing/memory.ts'
import { MemoryBroker } from '../../engine/adapters/broker/testing/memory.ts'
import type { MemoryDevice } from '../../engine/adapters/broker/testing/memory-device.ts'
import { MemoryLog } from '../../engine/adapters/log/testing/memory.ts'
import { MemoryStore } from '../../engine/adapters/store/testing/memory.ts'
import { MemoryTelemetry } from '../../engine/adapters/telemetry/testing/memory.ts'
import { historyBlock } from '../../engine/adapters/telemetry/testing/telemetry.ts'
import { Directory as People } from '../../engine/adapters/users/directory.ts'
import { MemoryUsers } from '../../engine/adapters/users/testing/memory.ts'
import type { Rule } from '../../engine/domain/alert/rule.ts'
import type { DeviceRequest } from '../../engine/domain/device/events.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { partitionOf } from '../../engine/domain/partition.ts'
import type { Authorship, ExportRequest, RequestOutcome } from '../../engine/index.ts'
import type { AuditEntry, AuditQuery } from '../../engine/ports/audit.ts'
import type { Fault } from '../../engine/ports/fault.ts'
import type { HistoryQuery, HistoryRow } from '../../engine/ports/history.ts'
import type { PointsQuery, SeriesQuery } from '../../engine/ports/telemetry.ts'
import type { User } from '../../engine/ports/users.ts'
import { LocalEngine } from '../../engine/runtime/engine.ts'
import type { EngineHost } from '../../engine/runtime/host.ts'
import { TEST_OTA } from '../../engine/runtime/ota/testing/ota-settings.ts'
import { TelemetryRepairs } from '../../engine/runtime/repair/telemetry-repairs.ts'
import { inlineThread } from '../../engine/runtime/runner/thread.ts'
import type { StandingTime } from '../../engine/testing/standing-time.ts'
import { type CommandId, type DeviceId, Millis, type UserId } from '../../schemas/ids.ts'
import { RecordingOutbound } from './recording-outbound.ts'

type Question = Omit<SeriesQuery, 'lateHours'> | PointsQuery | ExportRequest

/** Long enough for devices to stay online while tests advance the time. */
const HEARTBEAT_TIMEOUT_MS = 86_400_000
const PURGE_STEP_MS = 25
const NEVER = Millis(Number.MAX_SAFE_INTEGER)

export class MemoryEngine extends LocalEngine {
  readonly log: MemoryLog
  readonly store: MemoryStore
  readonly broker: MemoryBroker
  readonly telemetry: MemoryTelemetry
  readonly blobs: MemoryBlobs
  readonly users: EditableUsers
  readonly outbound: RecordingOutbound
  readonly repairs: TelemetryRepairs
  /** Audit entries with their outcomes, in the order in which the API passed them to the engine. */
  readonly recorded: AuditEntry[] = []
  readonly asked: Question[] = []
  readonly askedHistory: HistoryQuery[] = []
  readonly askedAudit: AuditQuery[] = []
  /** How long callers asked to wait for a command. */
  readonly waits: number[] = []
  readonly opened: Promise<void>
  readonly #time: StandingTime
  /** Runs while a caller waits for a command. The wait itself takes no time. */
  whileWaiting: (() => Promise<void>) | undefined

  constructor(time: StandingTime, users = new EditableUsers(), typeRules: readonly Rule[] = []) {
    const log = new MemoryLog()
    const store = new MemoryStore({ partitionOf })
    const broker = new MemoryBroker()
    const telemetry = new MemoryTelemetry()
    const blobs = new MemoryBlobs()
    const outbound = new RecordingOutbound()
    const ports = { clock: time, log, store, users, telemetry, broker, blobs, outbound }
    let ids = 0
    const host: Pick<EngineHost, 'schedule' | 'openThread' | 'newId' | 'warn'> = {
      schedule: time,
      openThread: (settings) => inlineThread(settings, () => 0),
      newId: () => `r${ids++}`,
      warn: () => {},
    }
    super(
      ports,
      {
        shards: 1,
        listens: true,
        heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
        mqttUrl: 'mqtt://localhost:1883',
        ota: TEST_OTA,
        typeRules,
        build: { version: 'test', commit: 'test' },
      },
      {
        ...host,
        fatal: (error) => {
          throw error
        },
        admit: async ({ clientId }) => {
          const deviceId = clientId as DeviceId
          const rights = { mayPublish: true, maySubscribe: true, expiresAt: NEVER }
          return { kind: 'admitted', deviceId, partition: partitionOf(deviceId), ...rights }
        },
      },
    )
    this.#time = time
    this.log = log
    this.store = store
    this.broker = broker
    this.telemetry = telemetry
    this.blobs = blobs
    this.users = users
    this.outbound = outbound
    this.repairs = new TelemetryRepairs({ ports, host })
    this.opened = this.open()
  }

  /** All devices, in the order of their registration. */
  all(): readonly DeviceRecord[] {
    return this.devices.list({}, { offset: 0, limit: 10_000, sort: 'created_at', descending: false }).devices
  }

  async connect(clientId: DeviceId): Promise<MemoryDevice> {
    await this.opened
    const device = await this.broker.connect({ clientId })
    if (typeof device === 'number') throw new Error(`${clientId} was refused with ${device}`)
    return device
  }

  /** Sends a message as the device, in a session of its own. Resolves once the device's actor has processed it. */
  async publish(deviceId: DeviceId, suffix: string, message: object): Promise<void> {
    const device = await this.connect(deviceId)
    await device.publish(`fleet/${deviceId}/${suffix}`, JSON.stringify(message))
    device.end('disconnect')
    await this.view(deviceId)
  }

  /** Connects the device, delivers its pending messages, and sends a message as the device. */
  async converse(deviceId: DeviceId, suffix: string, message: object): Promise<void> {
    const device = await this.connect(deviceId)
    device.subscribe(`fleet/${deviceId}/#`)
    await this.view(deviceId)
    await device.publish(`fleet/${deviceId}/${suffix}`, JSON.stringify(message))
    device.end('disconnect')
    await this.view(deviceId)
  }

  /** Stores rows of a device's history. */
  remember(...rows: readonly HistoryRow[]): Promise<void> {
    return this.telemetry.insert(historyBlock(rows))
  }

  override async submit(
    deviceId: DeviceId,
    request: DeviceRequest,
    signed: Authorship,
  ): Promise<RequestOutcome> {
    const submitted = await super.submit(deviceId, request, signed)
    const { entry } = signed
    if (entry !== undefined && submitted.kind === 'done')
      this.recorded.push({ ...entry, deviceId, outcome: 'success', code: undefined })
    if (entry !== undefined && submitted.kind === 'refused')
      this.recorded.push({ ...entry, deviceId, outcome: 'refused', code: submitted.code })
    return submitted
  }

  override async record(entries: readonly AuditEntry[]): Promise<void> {
    await super.record(entries)
    this.recorded.push(...entries)
  }

  override recordRefusal(entry: AuditEntry): void {
    super.recordRefusal(entry)
    this.recorded.push(entry)
  }

  /** A purge waits until rows are stored, so time has to advance meanwhile. */
  override async purge(...call: Parameters<LocalEngine['purge']>) {
    let isOver = false
    const purging = super.purge(...call).finally(() => {
      isOver = true
    })
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      if (!isOver) this.#time.at += PURGE_STEP_MS
    }
    return await purging
  }

  override async awaitCommand(deviceId: DeviceId, commandId: CommandId, timeoutMs: number) {
    this.waits.push(timeoutMs)
    await this.whileWaiting?.()
    return await super.awaitCommand(deviceId, commandId, 0)
  }

  override series(query: Omit<SeriesQuery, 'lateHours'>) {
    this.asked.push(query)
    return super.series(query)
  }

  override points(query: PointsQuery) {
    this.asked.push(query)
    return super.points(query)
  }

  override exportTelemetry(what: ExportRequest) {
    this.asked.push(what)
    return super.exportTelemetry(what)
  }

  override history(query: HistoryQuery) {
    this.askedHistory.push(query)
    return super.history(query)
  }

  override audit(query: AuditQuery) {
    this.askedAudit.push(query)
    return super.audit(query)
  }
}

/** An engine that a new one with the same users can replace while the API continues to use it. */
export function replaceableEngine(
  time: StandingTime,
  typeRules: readonly Rule[] = [],
): { readonly engine: MemoryEngine; replace(): void } {
  let current = new MemoryEngine(time, undefined, typeRules)
  const engine = new Proxy(current, {
    get(_, name) {
      const value: unknown = Reflect.get(current, name, current)
      return typeof value === 'function' ? value.bind(current) : value
    },
  })
  return {
    engine,
    replace() {
      time.forget()
      current = new MemoryEngine(time, current.users, typeRules)
    },
  }
}

export class EditableUsers extends MemoryUsers {
  /** If set, every write fails with this fault. */
  fault: Fault | undefined
  readonly #people: People

  constructor(people = new People()) {
    super(people, async () => {
      if (this.fault !== undefined) throw this.fault
    })
    this.#people = people
  }

  /** Stores a user as it is, without any checks. */
  async put(user: User): Promise<void> {
    this.#people.apply([{ kind: 'user', key: user.id, value: user }])
  }

  /** Removes a user without any checks, even the last admin. */
  forget(id: UserId): void {
    this.#people.apply([{ kind: 'user', key: id }])
  }
}
