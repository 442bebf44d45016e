// Commands to many devices. Each member gets a command of its own, through the log like any other. A record of the whole
// broadcast survives a crash.
//
// G1. The record is saved before the first member gets its command. A broadcast that was promised is carried out in full:
//     commands that were not handed out before a crash are handed out after it, each once.
// - Every member's time limit counts from the start of the broadcast, so a late command is not sent after it.
// G3. The result is counted from the commands while these are kept, and saved once all have ended.

import { Buffer } from 'node:buffer'
import { type BroadcastId, CommandId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import { chunks } from '../../domain/chunks.ts'
import {
  type Broadcast,
  type BroadcastMember,
  createBroadcast,
  type SkipReason,
  type StatusCounts,
  skipMember,
  tally,
} from '../../domain/command/broadcast.ts'
import { childId } from '../../domain/command/child-id.ts'
import { createCommand } from '../../domain/command/create.ts'
import { isOpen } from '../../domain/command/moves.ts'
import type { Command } from '../../domain/command/record.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import { isInScope } from '../../domain/group-scope.ts'
import { own } from '../../domain/shadow/json-object.ts'
import { userAuthor } from '../../domain/shadow/record.ts'
import { LIMITS } from '../../limits.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
import type {
  Authorship,
  BroadcastList,
  BroadcastPage,
  BroadcastRequest,
  BroadcastState,
  BroadcastsQuery,
  RequestOutcome,
} from '../../ports/engine.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim, DeviceSummary, Store } from '../../ports/store.ts'
import { notOwned } from '../runner/assignment.ts'
import type { Child } from '../shard/protocol.ts'
import type { BroadcastSignal } from '../signals.ts'
import { BroadcastBook, type SavedBroadcast } from './broadcast-book.ts'

export interface BroadcastPorts {
  readonly store: Pick<Store, 'save' | 'documents' | 'devices'>
  /** The leader's claims, which every save carries. */
  readonly claims: readonly Claim[]
  readonly broker: Broker
  readonly clock: Clock
  readonly schedule: Schedule
  readonly submit: (deviceId: DeviceId, request: DeviceRequest, signed: Authorship) => Promise<RequestOutcome>
  readonly children: (id: BroadcastId) => Promise<readonly Child[]>
  readonly commands: (deviceId: DeviceId) => Promise<readonly Command[] | undefined>
  readonly signal: (signal: BroadcastSignal) => void
}

export type BroadcastAnswer = { readonly kind: 'done'; readonly broadcast: Broadcast } | EngineRefusal

const AT_ONCE = 100
/** A busy shard takes as long for a few devices as for many, so the steps grow while all of them answer. */
const AT_ONCE_MAX = 1_000
const SAVE_EVERY = 1_000
const LIST_AT_ONCE = 500
/** A caller waits at most this long for the commands to be handed out. */
const ANSWER_MS = 2_000

export class Broadcasts {
  readonly #ports: BroadcastPorts
  readonly #book: BroadcastBook
  readonly #handingOut = new Map<BroadcastId, Promise<void>>()
  readonly #cancelled = new Set<BroadcastId>()
  /** Broadcasts whose result is not saved yet, with the time by which all their commands have ended. */
  readonly #unsettled = new Map<BroadcastId, number>()
  #isClosed = false

  constructor(ports: BroadcastPorts) {
    this.#ports = ports
    this.#book = new BroadcastBook(ports.store, ports.claims)
  }

  /** Continues with what an earlier incarnation began (G1). */
  async open(): Promise<void> {
    await this.#book.open()
    for (const saved of this.#book.all()) {
      const { broadcast, counts, handedOut } = saved
      if (counts === undefined) this.#unsettled.set(broadcast.id, endOf(broadcast))
      if (handedOut === undefined || this.#handingOut.has(broadcast.id)) continue
      void this.#begin(saved, await this.#book.membersOf(broadcast.id))
    }
  }

  close(): void {
    this.#isClosed = true
  }

  async create(request: BroadcastRequest): Promise<BroadcastAnswer> {
    const known = this.#book.find(request.broadcastId)
    if (known !== undefined) return { kind: 'done', broadcast: known.broadcast }
    const { group, chosen, command: name, data, priority, timeoutSec, by, broadcastId: id } = request
    const now = this.#ports.clock.now()
    const wish = { name, data, priority, timeoutSec }
    // If the command is invalid for one device, it is for all.
    const probe = createCommand([], wish, { id: CommandId(id), by, now })
    if (probe.kind === 'refused') return probe
    const members = await this.#membersOf(request)
    const { expectedTotal = members.length } = request
    if (expectedTotal !== members.length) return targetChanged(expectedTotal, members.length)
    const outcome = createBroadcast({ group, target: chosen?.target, ...wish }, members, { id, by, now })
    if (outcome.kind === 'refused') return outcome
    const { broadcast, requests } = outcome
    const recipients = requests.map(({ deviceId }) => deviceId)
    const saved = await this.#book.add(broadcast, recipients)
    this.#unsettled.set(id, endOf(broadcast))
    if (group !== undefined && chosen === undefined)
      this.#ports.broker.publishToGroup(group, {
        suffix: 'cmd/request',
        payload: toPayload(broadcast),
        qos: 1,
      })
    await Promise.race([this.#begin(saved, recipients), this.#ports.schedule.sleep(ANSWER_MS)])
    return { kind: 'done', broadcast: this.#book.find(id)?.broadcast ?? broadcast }
  }

  /** Counts results only for the broadcasts of the page. */
  async list({ offset, limit, by, within }: BroadcastsQuery): Promise<BroadcastList> {
    const seen = this.#book
      .all()
      .filter(({ broadcast }) => broadcast.createdBy === by || isInScope(broadcast.group, within))
      .toReversed()
    const broadcasts = await Promise.all(
      seen.slice(offset, offset + limit).map(async (saved) => {
        const { broadcast, counts } = saved
        if (counts !== undefined) return { broadcast, counts }
        return { broadcast, counts: this.#countsOf(saved, await this.#ports.children(broadcast.id)) }
      }),
    )
    return { broadcasts, total: seen.length }
  }

  async state(
    id: BroadcastId,
    { offset, limit, statuses, within }: BroadcastPage,
  ): Promise<BroadcastState | undefined> {
    const kept = this.#book.find(id)
    if (kept === undefined) return undefined
    const children = await this.#ports.children(id)
    const counts = this.#countsOf(kept, children)
    const { devices } = this.#ports.store
    const inOrder = children
      .filter(({ status }) => statuses === undefined || statuses.includes(status))
      .filter(({ deviceId }) => isInScope(devices.summary(deviceId)?.group, within))
      .sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
    const page = await Promise.all(
      inOrder.slice(offset, offset + limit).map(async ({ deviceId, commandId }) => {
        const commands = await this.#ports.commands(deviceId)
        const command = commands?.find((each) => each.id === commandId)
        return command === undefined ? [] : [{ deviceId, command }]
      }),
    )
    // A member whose answer was lost may have its command all the same.
    const accepted = Math.max(kept.broadcast.accepted, children.length)
    const broadcast = { ...kept.broadcast, accepted }
    return { broadcast, counts, commands: page.flat(), matching: inOrder.length }
  }

  async cancel(id: BroadcastId, by: string): Promise<BroadcastState | undefined> {
    if (this.#book.find(id) === undefined) return undefined
    this.#cancelled.add(id)
    await this.#handingOut.get(id)
    // This leader closed before the end of the handing out was saved. The next one would hand out the rest, so it has to
    // cancel.
    if (this.#book.find(id)?.handedOut !== undefined) throw notOwned()
    const open = (await this.#ports.children(id)).filter(({ status }) => isOpen(status))
    for (const some of chunks(open, AT_ONCE))
      await Promise.all(
        // A command that has ended meanwhile is refused, which does no harm.
        some.map(({ deviceId, commandId }) =>
          this.#ports.submit(deviceId, { kind: 'cancel', id: commandId }, { by: userAuthor(by) }),
        ),
      )
    return this.state(id, { offset: 0, limit: LIST_AT_ONCE })
  }

  /** Called once a minute: saves the results of broadcasts that are over (G3). */
  async settle(): Promise<void> {
    const now = this.#ports.clock.now()
    for (const [id, endsAt] of this.#unsettled) {
      const kept = this.#book.find(id)
      if (kept === undefined) this.#unsettled.delete(id)
      if (kept === undefined || endsAt > now || this.#handingOut.has(id)) continue
      const statuses = (await this.#ports.children(id)).map(({ status }) => status)
      // Their owners end commands a moment after the time limit, or later if they were away.
      if (statuses.some(isOpen)) continue
      const counts = tally(statuses)
      await this.#book.save({ ...kept, counts })
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

  /** The members at the moment of the call. They are looked at in steps, so that the process stays responsive. */
  async #membersOf(request: BroadcastRequest): Promise<readonly BroadcastMember[]> {
    const { group, within, chosen, unfit = {} } = request
    const { store, schedule } = this.#ports
    const members: BroadcastMember[] = []
    const add = ({ id: deviceId, status, type }: DeviceSummary) =>
      members.push({ deviceId, status, unfit: own(unfit, type) })
    if (chosen?.members.kind === 'named') {
      // Not in steps, because a request may name only a limited number of devices.
      for (const id of new Set(chosen.members.deviceIds)) {
        const device = store.devices.summary(id)
        if (device !== undefined) add(device)
      }
      return members
    }
    // All at once, because pages of a list that changes meanwhile would leave out some members and have others twice.
    const ids = store.devices.matching(chosen?.members.filter ?? { group, within })
    for (const [place, id] of ids.entries()) {
      if (place > 0 && place % LIST_AT_ONCE === 0) await schedule.sleep(0)
      const device = store.devices.summary(id)
      if (device !== undefined) add(device)
    }
    return members
  }

  #begin(saved: SavedBroadcast, members: readonly DeviceId[]): Promise<void> {
    const { id } = saved.broadcast
    const handingOut = this.#handOut(saved, members)
      .catch((error: unknown) => this.#ports.signal({ kind: 'broadcast_stopped', broadcastId: id, error }))
      .finally(() => {
        this.#handingOut.delete(id)
        this.#cancelled.delete(id)
      })
    this.#handingOut.set(id, handingOut)
    return handingOut
  }

  async #handOut(begun: SavedBroadcast, members: readonly DeviceId[]): Promise<void> {
    let { broadcast, handedOut: from = 0 } = begun
    for (let unsaved = 0, atOnce = AT_ONCE; from < members.length; ) {
      // The rest is handed out after a restart.
      if (this.#isClosed) return
      if (this.#cancelled.has(broadcast.id)) {
        broadcast = { ...broadcast, accepted: broadcast.accepted - (members.length - from) }
        break
      }
      const next = members.slice(from, from + atOnce)
      const asked = await this.#handTo(next, { broadcast, from })
      if (asked === undefined) {
        atOnce = AT_ONCE
        await this.#ports.schedule.sleep(LIMITS.broadcastRetryMs)
        continue
      }
      broadcast = asked
      atOnce = Math.min(atOnce * 2, AT_ONCE_MAX)
      from += next.length
      unsaved += next.length
      if (unsaved >= SAVE_EVERY) {
        await this.#saveProgress({ ...begun, broadcast, handedOut: from })
        unsaved = 0
      }
    }
    await this.#saveProgress({ ...begun, broadcast, handedOut: undefined })
  }

  /** Retried, because without it the rest of the members would wait for the next leader (G1). */
  async #saveProgress(saved: SavedBroadcast): Promise<void> {
    while (!this.#isClosed)
      try {
        await this.#book.save(saved)
        return
      } catch (error) {
        if (!(error instanceof Fault && error.retryable)) throw error
        this.#ports.signal({ kind: 'broadcast_waits', broadcastId: saved.broadcast.id, error })
        await this.#ports.schedule.sleep(LIMITS.broadcastRetryMs)
      }
  }

  /** Returns the broadcast without the members that refused. Undefined if the log failed: then all are asked again. */
  async #handTo(
    members: readonly DeviceId[],
    { broadcast, from }: { readonly broadcast: Broadcast; readonly from: number },
  ): Promise<Broadcast | undefined> {
    const { id, createdBy } = broadcast
    try {
      const answers = await Promise.all(
        members.map((deviceId, i) => {
          const request = {
            kind: 'command',
            id: childId(broadcast, from + i),
            wish: toRequest(broadcast, from + i),
          } as const
          return this.#ports.submit(deviceId, request, { by: userAuthor(createdBy) })
        }),
      )
      return answers.reduce((current, answer, i) => {
        const deviceId = members[i]
        if (answer.kind === 'done' || deviceId === undefined) return current
        return skipMember(current, { deviceId, reason: reasonOf(answer) })
      }, broadcast)
    } catch (error) {
      this.#ports.signal({ kind: 'broadcast_waits', broadcastId: id, error })
      return undefined
    }
  }
}

function targetChanged(expected: number, got: number): EngineRefusal {
  const message = `${expected} devices were expected, ${got} are meant by now`
  return { kind: 'refused', code: 'TARGET_CHANGED', detail: { message, expected, got } }
}

function toRequest({ id, name, data, priority, timeoutSec, perSec, createdAt }: Broadcast, place: number) {
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
