// Callers of the REST API write shadows and send commands and broadcasts. What they are told must be true.
import { BroadcastId, CommandId, Millis } from '../../schemas/ids.ts'
import type { RequestOutcome } from '../ports/engine.ts'
import { type BaseWorld, GROUP } from './base-world.ts'
import type { SimulatedDevice } from './simulated-device.ts'

export const TIMEOUT_SEC_MAX = 40

export class Callers {
  readonly #world: BaseWorld
  #commands = 0
  #broadcasts = 0

  constructor(world: BaseWorld) {
    this.#world = world
  }

  act(device: SimulatedDevice): void {
    const { dice } = this.#world
    const what = dice.roll()
    if (what < 0.4) this.#desire(device)
    else if (what < 0.8) this.#command(device)
    else if (what < 0.9) this.#cancel(device)
    else if (what < 0.97) this.#wait(device)
    else this.#broadcast()
  }

  /** Half of the writes name the version that they expect, which may be stale. */
  #desire(device: SimulatedDevice): void {
    const world = this.#world
    const pledge = world.pledges.of(device)
    const w = ++pledge.desiredSent
    const known = world.ledger.shadowOf(device.id)?.version ?? 0
    const expectedVersion = world.dice.chance(0.5) ? known : undefined
    const mode = world.dice.pick(['merge', 'merge', 'replace'] as const)
    // Every write has a new value, so that it changes something.
    const patch = { w, also: { [`k${world.dice.between(1, 3)}`]: world.dice.pick([1, null, 'x']) } }
    world.request(device.id, { kind: 'desire', patch, mode, expectedVersion }, (_, answer) => {
      const version = answer.kind === 'done' ? answer.shadow?.version : undefined
      if (version === undefined) return
      pledge.desiredAccepted = Math.max(pledge.desiredAccepted, w)
      if (expectedVersion !== undefined && version !== expectedVersion + 1)
        world.violate(`${device.id} has shadow ${version} after a write that expected ${expectedVersion}`)
      if (pledge.versions.has(version)) world.violate(`${device.id} has two writes of shadow ${version}`)
      pledge.versions.add(version)
    })
  }

  #command(device: SimulatedDevice): void {
    const world = this.#world
    const { dice } = world
    const id = CommandId(`c${++this.#commands}`)
    const wish = {
      name: 'go',
      data: { k: this.#commands },
      priority: dice.pick(['critical', 'high', 'normal', 'low'] as const),
      timeoutSec: dice.pick([1, 5, 20, TIMEOUT_SEC_MAX]),
      notBefore: dice.chance(0.1) ? Millis(world.time.now() + dice.between(0, 5_000)) : undefined,
      idempotencyKey: dice.chance(0.2) ? `key${this.#commands}` : undefined,
    }
    const pledge = world.pledges.of(device)
    world.request(device.id, { kind: 'command', id, wish }, (_, answer) => {
      if (commandOf(answer) !== undefined) pledge.commands.add(id)
    })
  }

  #cancel(device: SimulatedDevice): void {
    const world = this.#world
    const pledge = world.pledges.of(device)
    if (pledge.commands.size === 0) return
    const id = CommandId(world.dice.pick([...pledge.commands].slice(-3)))
    world.request(device.id, { kind: 'cancel', id }, (_, answer) => {
      const command = commandOf(answer)
      if (command === undefined) return
      pledge.cancelled.add(id)
      if (command.delivery.attempts > 0) return
      device.control.forbidden.add(id)
      if (device.control.received.has(id)) world.violate(`${device.id} got ${id}, which was cancelled unsent`)
    })
  }

  #wait(device: SimulatedDevice): void {
    const world = this.#world
    const id = [...world.pledges.of(device).commands].at(-1)
    if (id === undefined) return
    world.process?.engine.awaitCommand(device.id, CommandId(id), 3_000).then(
      (command) => world.say(`${device.id} ${id} is ${command?.status} after a while`),
      () => world.say(`${device.id} ${id} unknown`),
    )
  }

  #broadcast(): void {
    const world = this.#world
    const broadcastId = BroadcastId(`b${++this.#broadcasts}`)
    const priority = world.dice.pick(['critical', 'normal'] as const)
    const request = { broadcastId, group: GROUP, command: 'all', priority, timeoutSec: 20, by: 'usr_sim' }
    world.process?.engine.broadcast(request).then(
      (answer) => {
        world.say(`${broadcastId} ${answer.kind}`)
        if (answer.kind === 'done') world.pledges.broadcasts.add(broadcastId)
        if (answer.kind === 'done' && world.dice.chance(0.2)) this.#cancelBroadcast(broadcastId)
      },
      () => world.say(`${broadcastId} unknown`),
    )
  }

  #cancelBroadcast(broadcastId: BroadcastId): void {
    const world = this.#world
    world.process?.engine.cancelBroadcast(broadcastId, 'usr_sim').then(
      (state) => world.say(`${broadcastId} cancelled ${state?.counts.cancelled}`),
      () => world.say(`${broadcastId} cancelling unknown`),
    )
  }
}

function commandOf(answer: RequestOutcome) {
  return answer.kind === 'done' ? answer.command : undefined
}
