// Shadows, commands and broadcasts of the engine in memory: the real functions of the domain, and nobody they are
// sent to.
import {
  type Broadcast,
  createBroadcast,
  type SkippedMember,
  skipMember,
  tally,
} from '../../engine/domain/command/broadcast.ts'
import { isOpen } from '../../engine/domain/command/moves.ts'
import type { Command } from '../../engine/domain/command/record.ts'
import type { Device } from '../../engine/domain/device/record.ts'
import { own } from '../../engine/domain/shadow/json-object.ts'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import type { BroadcastRequest, BroadcastState, Engine, Refused } from '../../engine/ports/engine.ts'
import { type BroadcastId, CommandId, type DeviceId } from '../../schemas/ids.ts'
import type { FakeEngine } from './fake-engine.ts'

export class FakeOrders implements Pick<Engine, 'broadcast' | 'broadcastState' | 'cancelBroadcast'> {
  readonly #engine: FakeEngine
  readonly #broadcasts = new Map<BroadcastId, Broadcast>()

  constructor(engine: FakeEngine) {
    this.#engine = engine
  }

  async broadcast(
    request: BroadcastRequest,
  ): Promise<{ readonly kind: 'done'; readonly broadcast: Broadcast } | Refused> {
    const { broadcastId: id, command: name, group, within, by, unfit = {} } = request
    const earlier = this.#broadcasts.get(id)
    if (earlier !== undefined) return { kind: 'done', broadcast: earlier }
    const { devices } = this.#engine.devices.list({ group, within }, { offset: 0, limit: 1_000 })
    const members = devices.map((device) => ({
      deviceId: device.id,
      status: device.status,
      unfit: own(unfit, device.type),
    }))
    const outcome = createBroadcast({ ...request, name }, members, { id, by, now: this.#engine.now() })
    if (outcome.kind === 'refused') return outcome
    let { broadcast } = outcome
    for (const { deviceId, wish } of outcome.wishes) {
      const commandId = CommandId(`cmd_${id}_${deviceId}`)
      const submitted = await this.#engine.submit(
        deviceId,
        { kind: 'command', id: commandId, wish },
        { by: userAuthor(by) },
      )
      const skipped: SkippedMember = { deviceId, reason: 'queue_full' }
      if (submitted.kind === 'refused') broadcast = skipMember(broadcast, skipped)
    }
    this.#broadcasts.set(id, broadcast)
    return { kind: 'done', broadcast }
  }

  async broadcastState(
    id: BroadcastId,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<BroadcastState | undefined> {
    const broadcast = this.#broadcasts.get(id)
    if (broadcast === undefined) return undefined
    const commands = this.#commandsOf(id)
    const counts = tally(commands.map(({ command }) => command.status))
    return { broadcast, counts, commands: commands.slice(offset, offset + limit) }
  }

  async cancelBroadcast(id: BroadcastId, by: string): Promise<BroadcastState | undefined> {
    for (const { deviceId, command } of this.#commandsOf(id))
      if (isOpen(command.status))
        await this.#engine.submit(deviceId, { kind: 'cancel', id: command.id }, { by: userAuthor(by) })
    return await this.broadcastState(id, { offset: 0, limit: 0 })
  }

  #commandsOf(id: BroadcastId): { readonly deviceId: DeviceId; readonly command: Command }[] {
    return [...this.#engine.devices.values()]
      .sort((a: Device, b: Device) => (a.id < b.id ? -1 : 1))
      .flatMap(({ id: deviceId, commands }) =>
        commands.filter(({ broadcastId }) => broadcastId === id).map((command) => ({ deviceId, command })),
      )
  }
}
