// All devices of a simulation: how they are connected, when they connect, and how the timeline affects them.
import type { Registration } from '../enrol.ts'
import type { Scenario, Step, TypePlan } from '../scenario/scenario.ts'
import type { BrokerAddress } from '../wire/link.ts'
import { DeviceCohort } from './device-cohort.ts'
import { SimDevice } from './sim-device.ts'
import { sourceAddress } from './sockets.ts'
import { SLOT_MS, type World } from './world.ts'

/** The devices of one entry of `types`, and the gateways that they are connected through. */
interface FleetPart {
  readonly cohort: DeviceCohort
  readonly gateways: DeviceCohort | undefined
  readonly perGateway: number
}

export class Fleet {
  readonly #scenario: Scenario
  readonly #parts: readonly FleetPart[]
  readonly #devices: SimDevice[] = []
  readonly #gateways: SimDevice[] = []
  /** The devices that have yet to connect, at the rate of the scenario. */
  readonly #queue: SimDevice[] = []
  #queued = 0
  #credit = 0

  constructor(scenario: Scenario) {
    this.#scenario = scenario
    this.#parts = scenario.types.map((plan) => ({
      cohort: new DeviceCohort(plan, scenario.seed),
      gateways: plan.perGateway === undefined ? undefined : new DeviceCohort(gatewaysOf(plan), scenario.seed),
      perGateway: plan.perGateway ?? 1,
    }))
  }

  /** The number of connections that the fleet needs. */
  get sockets(): number {
    return this.#parts.reduce((sum, { cohort, gateways }) => sum + (gateways ?? cohort).plan.count, 0)
  }

  get devices(): readonly SimDevice[] {
    return this.#devices
  }

  /** Returns all devices to register, gateways before their sub-devices. */
  registrations(): readonly Registration[] {
    const gateways = this.#parts.flatMap((part) =>
      part.gateways === undefined ? [] : registrationsOf(part.gateways),
    )
    const others = this.#parts.flatMap(({ cohort, gateways: over, perGateway }) =>
      registrationsOf(cohort, (index) => over?.idOf(Math.floor(index / perGateway))),
    )
    return [...gateways, ...others]
  }

  /** Creates the devices that were registered and begins to connect them. */
  begin(world: World, broker: BrokerAddress, tokens: ReadonlyMap<string, string>): void {
    let nth = 0
    const createDevice = (cohort: DeviceCohort, index: number, isGateway: boolean): SimDevice | undefined => {
      const token = tokens.get(cohort.idOf(index))
      if (token === undefined) return undefined
      const localAddress = sourceAddress(nth++, this.sockets, broker.host)
      return new SimDevice({
        world,
        cohort,
        index,
        connection: { kind: 'own', broker, token, localAddress, isGateway },
      })
    }
    for (const { cohort, gateways, perGateway } of this.#parts) {
      const over = Array.from({ length: gateways?.plan.count ?? 0 }, (_, index) =>
        gateways === undefined ? undefined : createDevice(gateways, index, true),
      )
      this.#gateways.push(...over.filter((gateway) => gateway !== undefined))
      const createSubDevice = (index: number): SimDevice | undefined => {
        const gateway = over[Math.floor(index / perGateway)]
        if (gateway === undefined || !tokens.has(cohort.idOf(index))) return undefined
        return new SimDevice({ world, cohort, index, connection: { kind: 'gateway', gateway } })
      }
      for (let index = 0; index < cohort.plan.count; index++) {
        const device = gateways === undefined ? createDevice(cohort, index, false) : createSubDevice(index)
        if (device !== undefined) this.#devices.push(device)
      }
    }
    world.counts.devices = this.#devices.length
    // Sub-devices of different gateways alternate, because each gateway has a rate limit of its own.
    const indexWithinGateway = (device: SimDevice): number =>
      device.isSub ? device.index % (device.cohort.plan.perGateway ?? 1) : 0
    this.#connect([
      ...this.#gateways,
      ...this.#devices.toSorted((a, b) => indexWithinGateway(a) - indexWithinGateway(b)),
    ])
    for (const step of this.#scenario.timeline) world.after(step.atSec * 1_000, () => this.#act(step))
  }

  /** Connects as many devices as the rate allows. It must be called every `SLOT_MS`. */
  advance(): void {
    if (this.#queued === this.#queue.length) return
    this.#credit = Math.min(
      this.#credit + (this.#scenario.connectPerSec * SLOT_MS) / 1_000,
      this.#scenario.connectPerSec,
    )
    while (this.#credit >= 1 && this.#queued < this.#queue.length) {
      this.#credit--
      this.#queue[this.#queued++]?.connect()
    }
    if (this.#queued < this.#queue.length) return
    this.#queue.length = 0
    this.#queued = 0
  }

  connected(): number {
    return this.#devices.reduce((sum, device) => sum + (device.isConnected() ? 1 : 0), 0)
  }

  /** Returns the number of unacknowledged messages. */
  unacked(): number {
    const own = this.#devices.reduce((sum, device) => sum + (device.isSub ? 0 : device.link.unacked), 0)
    return this.#gateways.reduce((sum, { link }) => sum + link.unacked, own)
  }

  stop(): void {
    for (const device of this.#devices) device.leave()
    for (const gateway of this.#gateways) gateway.leave()
  }

  #connect(devices: readonly SimDevice[]): void {
    for (const device of devices) this.#queue.push(device)
  }

  #act({ target: { name, percent }, act }: Step): void {
    const targets = this.#devices.filter(
      ({ cohort, index }) =>
        (name === undefined || name === cohort.plan.type || name === cohort.plan.idPrefix) &&
        cohort.isTarget(index, percent),
    )
    switch (act.kind) {
      case 'connect':
        this.#connect(targets)
        return
      case 'disconnect':
      case 'storm':
      case 'stop':
        for (const device of targets) device[act.kind]()
        return
      case 'set':
        for (const device of targets) device.override(act.field, act.value)
        return
      case 'rate':
        for (const device of targets) device.setInterval(act.intervalSec * 1_000)
        return
      case 'fault':
        for (const device of targets) device.setFault(act.fault)
    }
  }
}

function registrationsOf(
  cohort: DeviceCohort,
  parentOf: (index: number) => string | undefined = () => undefined,
): readonly Registration[] {
  const { count, type, group, tags, numberAt } = cohort.plan
  return Array.from({ length: count }, (_, index) => ({
    ...{ id: cohort.idOf(index), type, group: group(numberAt(index)), tags, parentId: parentOf(index) },
  }))
}

/** Describes the gateways of a type. They send little telemetry of their own. */
function gatewaysOf(plan: TypePlan): TypePlan {
  const { count, gatewayPrefix, perGateway = 1, group } = plan
  const telemetry: TypePlan['telemetry'] = {
    ...{ intervalSec: 20, jitter: 0, qos: 1 },
    source: {
      kind: 'fields',
      fields: [{ name: 'messages', generator: { kind: 'counter', start: 0, step: 1 } }],
    },
  }
  return {
    ...plan,
    ...{ type: 'gateway', count: Math.ceil(count / perGateway), idPrefix: gatewayPrefix },
    ...{
      idDigits: 3,
      numberAt: (index) => index + 1,
      group: (number) => group((number - 1) * perGateway + 1),
    },
    ...{ perGateway: undefined, telemetry, faults: [] },
    firmware: { ...plan.firmware, behaviours: [] },
  }
}
