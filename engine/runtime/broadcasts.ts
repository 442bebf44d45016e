// Commands to groups. Each member gets a command of its own, through the log like any other, and a record of the whole
// broadcast survives a crash.
//
// G1. The record is saved before the first member gets its command. Who was promised a broadcast gets all of it: what
//     was not handed out before a crash is handed out after it, each member's command once.
// G2. Every member's time counts from the broadcast's: what is handed out late is not sent late.
// G3. What came of it is counted from its commands while they are kept, and written down once they have all ended.
import { Buffer } from 'node:buffer'
import { type BroadcastId, CommandId, type DeviceId, Millis } from '../../schemas/ids.ts'
import {
  type Broadcast,
  type BroadcastMember,
  createBroadcast,
  type SkipReason,
  type StatusCounts,
  skipMember,
  tally,
} from '../domain/command/broadcast.ts'
import { createCommand } from '../domain/command/create.ts'
import { isOpen } from '../domain/command/moves.ts'
import type { Command } from '../domain/command/record.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { own } from '../domain/shadow/json-object.ts'
import { userAuthor } from '../domain/shadow/record.ts'
import { LIMITS } from '../limits.ts'
import type { Broker } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type {
  BroadcastRequest,
  BroadcastState,
  EngineRefusal,
  RequestOutcome,
  Signed,
} from '../ports/engine.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { Child } from './shard/protocol.ts'
import type { BroadcastSignal } from './signals.ts'

export interface BroadcastPorts {
  readonly store: Store
  readonly broker: Broker
  readonly clock: Clock
  readonly schedule: Schedule
  readonly submit: (deviceId: DeviceId, request: DeviceRequest, signed: Signed) => Promise<RequestOutcome>
  readonly children: (id: BroadcastId) => Promise<readonly Child[]>
  readonly commands: (deviceId: DeviceId) => Promise<readonly Command[] | undefined>
  readonly signal: (signal: BroadcastSignal) => void
}

/** A broadcast as it is saved. */
interface SavedBroadcast {
  /** Number of the broadcast; the newest ones are kept. */
  readonly n: number
  readonly broadcast: Broadcast
  /** The members whose command may not be handed out yet, and the place of the first of them. */
  readonly members: readonly DeviceId[]
  readonly from: number
  readonly counts: StatusCounts | undefined
}

export type BroadcastAnswer = { readonly kind: 'done'; readonly broadcast: Broadcast } | EngineRefusal

const AT_ONCE = 100
const SAVE_EVERY = 1_000
const LIST_AT_ONCE = 500
/** A caller waits at most this long for the commands to be handed out. */
const ANSWER_MS = 2_000

export class Broadcasts {
  readonly #ports: BroadcastPorts
  readonly #slots = new Map<BroadcastId, number>()
  readonly #handingOut = new Map<BroadcastId, Promise<void>>()
  readonly #cancelled = new Set<BroadcastId>()
  /** Broadcasts whose result is not saved yet, with the time by which all their commands have ended. */
  readonly #unsettled = new Map<BroadcastId, number>()
  #count = 0
  #isClosed = false

  constructor(ports: BroadcastPorts) {
    this.#ports = ports
  }

  /** Goes on with what an earlier incarnation began (G1). */
  open(): void {
    for (let slot = 0; slot < LIMITS.broadcastsKeptMax; slot++) {
      const kept = this.#read(slot)
      if (kept === undefined) continue
      this.#count = Math.max(this.#count, kept.n + 1)
      this.#slots.set(kept.broadcast.id, slot)
      if (kept.counts === undefined) this.#unsettled.set(kept.broadcast.id, endOf(kept.broadcast))
      if (kept.members.length > 0) void this.#begin(kept)
    }
  }

  close(): void {
    this.#isClosed = true
  }

  async create(request: BroadcastRequest): Promise<BroadcastAnswer> {
    const known = this.#find(request.broadcastId)
    if (known !== undefined) return { kind: 'done', broadcast: known.broadcast }
    const { group, command: name, data, priority, timeoutSec, by, broadcastId: id } = request
    const now = this.#ports.clock.now()
    const wish = { name, data, priority, timeoutSec }
    // Refused for one is refused for all.
    const probe = createCommand([], wish, { id: CommandId(id), by, now })
    if (probe.kind === 'refused') return probe
    const members = await this.#membersOf(request)
    const outcome = createBroadcast({ group, ...wish }, members, { id, by, now })
    if (outcome.kind === 'refused') return outcome
    const { broadcast, wishes } = outcome
    const kept: SavedBroadcast = {
      n: this.#count++,
      broadcast,
      members: wishes.map(({ deviceId }) => deviceId),
      from: 0,
      counts: undefined,
    }
    await this.#save(kept)
    this.#unsettled.set(id, endOf(broadcast))
    this.#ports.broker.publishToGroup(group, { suffix: 'cmd/request', payload: toPayload(broadcast), qos: 1 })
    await Promise.race([this.#begin(kept), this.#ports.schedule.sleep(ANSWER_MS)])
    return { kind: 'done', broadcast: this.#find(id)?.broadcast ?? broadcast }
  }

  async state(
    id: BroadcastId,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<BroadcastState | undefined> {
    const kept = this.#find(id)
    if (kept === undefined) return undefined
    const children = await this.#ports.children(id)
    const counts = this.#countsOf(kept, children)
    const inOrder = [...children].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
    const page = await Promise.all(
      inOrder.slice(offset, offset + limit).map(async ({ deviceId, commandId }) => {
        const commands = await this.#ports.commands(deviceId)
        const command = commands?.find((each) => each.id === commandId)
        return command === undefined ? [] : [{ deviceId, command }]
      }),
    )
    // A member whose answer was lost may have its command all the same.
    const accepted = Math.max(kept.broadcast.accepted, children.length)
    return { broadcast: { ...kept.broadcast, accepted }, counts, commands: page.flat() }
  }

  async cancel(id: BroadcastId, by: string): Promise<BroadcastState | undefined> {
    if (this.#find(id) === undefined) return undefined
    this.#cancelled.add(id)
    await this.#handingOut.get(id)
    const open = (await this.#ports.children(id)).filter(({ status }) => isOpen(status))
    for (let at = 0; at < open.length; at += AT_ONCE)
      await Promise.all(
        open
          .slice(at, at + AT_ONCE)
          // One that has ended meanwhile is refused, and has ended.
          .map(({ deviceId, commandId }) =>
            this.#ports.submit(deviceId, { kind: 'cancel', id: commandId }, { by: userAuthor(by) }),
          ),
      )
    return this.state(id, { offset: 0, limit: LIST_AT_ONCE })
  }

  /** Called once a minute: saves the results of broadcasts that are over (G3). */
  async settle(): Promise<void> {
    const now = this.#ports.clock.now()
    for (const [id, endsAt] of this.#unsettled) {
      const kept = this.#find(id)
      if (kept === undefined) this.#unsettled.delete(id)
      if (kept === undefined || endsAt > now || this.#handingOut.has(id)) continue
      const counts = tally((await this.#ports.children(id)).map(({ status }) => status))
      await this.#save({ ...kept, counts })
      this.#unsettled.delete(id)
    }
  }

  #countsOf({ broadcast, counts }: SavedBroadcast, children: readonly Child[]): StatusCounts {
    const counted = tally(children.map(({ status }) => status))
    const missing = broadcast.accepted - children.length
    if (missing <= 0) return counted
    if (counts !== undefined) return counts
    return this.#handingOut.has(broadcast.id) ? { ...counted, pending: counted.pending + missing } : counted
  }

  /** Finds the members in steps, so that the process stays responsive. */
  async #membersOf({ group, within, unfit = {} }: BroadcastRequest): Promise<readonly BroadcastMember[]> {
    const { store, schedule } = this.#ports
    const members: BroadcastMember[] = []
    for (let offset = 0; ; offset += LIST_AT_ONCE) {
      const filter = { group, within }
      const { devices } = store.devices.list(filter, { offset, limit: LIST_AT_ONCE, sort: 'device_id' })
      for (const { id: deviceId, status, type } of devices)
        members.push({ deviceId, status, unfit: own(unfit, type) })
      if (devices.length < LIST_AT_ONCE) return members
      await schedule.sleep(0)
    }
  }

  #begin(kept: SavedBroadcast): Promise<void> {
    const { id } = kept.broadcast
    const handingOut = this.#handOut(kept)
      .catch((error: unknown) => this.#ports.signal({ kind: 'broadcast_stopped', broadcastId: id, error }))
      .finally(() => {
        this.#handingOut.delete(id)
        this.#cancelled.delete(id)
      })
    this.#handingOut.set(id, handingOut)
    return handingOut
  }

  async #handOut(begun: SavedBroadcast): Promise<void> {
    let kept = begun
    let unsaved = 0
    while (kept.members.length > 0 && !this.#isClosed) {
      const { members, from } = kept
      if (this.#cancelled.has(kept.broadcast.id)) {
        const accepted = kept.broadcast.accepted - members.length
        kept = { ...kept, broadcast: { ...kept.broadcast, accepted }, members: [] }
        break
      }
      const now = members.slice(0, AT_ONCE)
      const broadcast = await this.#handTo(now, kept)
      if (broadcast === undefined) await this.#ports.schedule.sleep(LIMITS.broadcastRetryMs)
      else {
        kept = { ...kept, broadcast, members: members.slice(now.length), from: from + now.length }
        unsaved += now.length
      }
      if (unsaved >= SAVE_EVERY && kept.members.length > 0) {
        await this.#save(kept)
        unsaved = 0
      }
    }
    if (!this.#isClosed) await this.#save(kept)
  }

  /** The broadcast with those skipped that would not take it; undefined if the log fails, then all are asked again. */
  async #handTo(
    members: readonly DeviceId[],
    { broadcast, from }: SavedBroadcast,
  ): Promise<Broadcast | undefined> {
    const { id, createdBy } = broadcast
    try {
      const answers = await Promise.all(
        members.map((deviceId, i) => {
          const request = {
            kind: 'command',
            id: CommandId(`${id}-${from + i}`),
            wish: toWish(broadcast, from + i),
          } as const
          return this.#ports.submit(deviceId, request, { by: userAuthor(createdBy) })
        }),
      )
      return answers.reduce((so, answer, i) => {
        const deviceId = members[i]
        if (answer.kind === 'done' || deviceId === undefined) return so
        return skipMember(so, { deviceId, reason: reasonOf(answer) })
      }, broadcast)
    } catch (error) {
      this.#ports.signal({ kind: 'broadcast_waits', broadcastId: id, error })
      return undefined
    }
  }

  #find(id: BroadcastId): SavedBroadcast | undefined {
    const slot = this.#slots.get(id)
    const kept = slot === undefined ? undefined : this.#read(slot)
    return kept?.broadcast.id === id ? kept : undefined
  }

  #read(slot: number): SavedBroadcast | undefined {
    const text = this.#ports.store.getFact(factOf(slot))
    // Written by #save.
    return text === undefined ? undefined : (JSON.parse(text) as SavedBroadcast)
  }

  async #save(kept: SavedBroadcast): Promise<void> {
    const slot = kept.n % LIMITS.broadcastsKeptMax
    const earlier = this.#read(slot)
    if (earlier !== undefined && earlier.n !== kept.n) this.#slots.delete(earlier.broadcast.id)
    this.#slots.set(kept.broadcast.id, slot)
    await this.#ports.store.putFact(factOf(slot), JSON.stringify(kept))
  }
}

function factOf(slot: number): string {
  return `broadcast/${slot}`
}

function toWish({ id, name, data, priority, timeoutSec, perSec, createdAt }: Broadcast, place: number) {
  const notBefore = Millis(createdAt + (perSec === undefined ? 0 : Math.floor((place * 1_000) / perSec)))
  return { name, data, priority, timeoutSec, notBefore, broadcastId: id }
}

function endOf({ createdAt, accepted, perSec, priority, timeoutSec }: Broadcast): number {
  const isCritical = priority === 'critical'
  const defaultSec = isCritical ? LIMITS.commandTimeoutSecCritical : LIMITS.commandTimeoutSecDefault
  const pacingSec = perSec === undefined ? 0 : accepted / perSec
  return createdAt + (pacingSec + (timeoutSec ?? defaultSec)) * 1_000
}

function reasonOf({ code }: EngineRefusal): SkipReason {
  return code === 'COMMAND_QUEUE_FULL' ? 'queue_full' : 'decommissioned'
}

function toPayload({ id, name, data, priority, group }: Broadcast): Uint8Array {
  return Buffer.from(JSON.stringify({ request_id: id, command: name, data, priority, group }))
}
