// One process of a simulated cluster. It owns devices, reads lanes of the broker and answers callers. It can die, pause,
// and lose single connections.
import { Millis } from '../../../schemas/ids.ts'
import { MemoryMesh, type MemoryNet } from '../../adapters/mesh/testing/memory.ts'
import { type MemoryOwners, MemoryOwnership } from '../../adapters/ownership/testing/memory.ts'
import type { MemoryUsers } from '../../adapters/users/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import { type Broker, CONNACK, type UplinkHost } from '../../ports/broker.ts'
import { Fault, type FaultCode } from '../../ports/fault.ts'
import type { Log } from '../../ports/log.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { OwnershipTable } from '../../ports/ownership.ts'
import { LocalEngine } from '../../runtime/engine.ts'
import { TEST_OTA } from '../../runtime/ota/testing/ota-settings.ts'
import type { SimTime } from '../../testing/time.ts'
import type { Dice } from '../dice.ts'
import {
  type FaultContext,
  faultyBroker,
  faultyLog,
  faultyStore,
  faultyTelemetry,
  type Luck,
  withReplaced,
} from '../faults.ts'
import { openFaultyThread } from '../faulty-thread.ts'
import type { Ledger } from '../ledger.ts'
import { HEARTBEAT_MS } from '../simulated-device.ts'
import type { SimTelemetry } from '../telemetry.ts'
import { Life, type Link, reached } from './links.ts'
import type { OutsideBroker } from './outside-broker.ts'
import type { SharedLog } from './shared-log.ts'
import type { SharedStore } from './shared-store.ts'

/** Everything that the nodes share. */
export interface SharedWorld {
  readonly dice: Dice
  readonly time: SimTime
  readonly ledger: Ledger
  readonly log: SharedLog
  readonly store: SharedStore
  readonly users: MemoryUsers
  readonly telemetry: SimTelemetry
  readonly outside: OutsideBroker
  readonly net: MemoryNet
  readonly owners: MemoryOwners
  readonly lanes: MemoryOwners
  readonly luck: () => Luck
  readonly newId: () => string
  readonly say: (line: string) => void
  readonly violate: (what: string) => void
  /** Called when a fault kills the node. */
  readonly died: (node: SimNode, where: string) => void
}

const HEARD_EVERY_MS = 500

export class SimNode {
  readonly name: string
  readonly life = new Life()
  /** The links of this node that are cut now. */
  readonly cutLinks = new Set<Link>()
  readonly engine: LocalEngine
  readonly after: (ms: number, run: () => void) => void
  readonly mesh: MemoryMesh
  readonly #shared: SharedWorld
  readonly #end: () => void
  #host: UplinkHost | undefined
  #appends = 0

  /** `skewMs` is how far the node's clock is ahead. */
  constructor(name: string, shared: SharedWorld, skewMs: number) {
    this.name = name
    this.#shared = shared
    const { time, dice, outside, users, newId, violate } = shared
    const timers = time.newIncarnation()
    this.#end = timers.end
    const schedule = this.life.schedule(timers.schedule)
    this.after = schedule.after
    const context: FaultContext = {
      ...{ dice, schedule, luck: shared.luck, trace: (line) => shared.say(`${name} ${line}`) },
      doom: { where: undefined, left: 0 },
      die: (where) => shared.died(this, where),
      isOver: () => this.life.isOver,
    }
    this.mesh = new MemoryMesh(shared.net, name, schedule)
    const log = shared.log.connect({ life: this.life, cutLinks: this.cutLinks, schedule, dice })
    const store = faultyStore(shared.store.connect(), context, shared.ledger)
    const telemetry = faultyTelemetry(shared.telemetry, context, () => !this.cutLinks.has('telemetry'))
    this.engine = new LocalEngine(
      {
        clock: { now: () => Millis(time.now() + skewMs), ticks: () => time.ticks() },
        log: this.#counted(faultyLog(log, context, shared.ledger)),
        store: this.#reached('store', withReplaced(store, { isUp: () => !this.cutLinks.has('store') })),
        users,
        telemetry: this.#reached('telemetry', telemetry),
        broker: this.#broker(faultyBroker(outside.broker, context)),
        cluster: {
          mesh: this.#heldMesh(),
          owners: this.#table(shared.owners),
          lanes: { owners: this.#table(shared.lanes), reader: outside.readerFor(this) },
        },
      },
      {
        ...{ shards: 1, listens: true, heartbeatTimeoutMs: HEARTBEAT_MS, ota: TEST_OTA },
        build: { version: 'sim', commit: 'sim' },
      },
      {
        schedule,
        openThread: (settings) => openFaultyThread(settings, context),
        newId: () => `${name}-${newId()}`,
        dice: () => dice.roll(),
        warn: () => {},
        fatal: (error) => violate(`${name}: fatal: ${error instanceof Error ? error.stack : String(error)}`),
        // The external broker admits devices, not the node.
        admit: async () => ({ kind: 'denied', code: CONNACK.unauthorized, reason: 'sim' }),
      },
    )
    schedule.every(HEARD_EVERY_MS, () =>
      this.#host?.heard(outside.heardBy(this), Millis(time.now() + skewMs)),
    )
  }

  /** True while messages that the node read are on their way to the log. */
  get isAppending(): boolean {
    return this.#appends > 0
  }

  get isRunning(): boolean {
    return !this.life.isOver && !this.life.isPaused
  }

  get host(): UplinkHost {
    if (this.#host === undefined) throw new Error(`${this.name} does not listen yet`)
    return this.#host
  }

  get broker() {
    return this.#shared.outside.broker
  }

  pause(): void {
    this.life.pause()
  }

  resume(): void {
    this.life.resume()
    this.#shared.outside.look(this)
  }

  cut(link: Link): void {
    this.cutLinks.add(link)
    if (link === 'mesh') this.mesh.isCut = true
  }

  heal(): void {
    this.cutLinks.clear()
    this.mesh.isCut = false
  }

  /** Ends the process like kill -9. */
  die(): void {
    this.life.end()
    this.#end()
    this.mesh.isCut = true
    this.#shared.outside.look(this)
  }

  /** Returns how many partitions the table of owners gives to this node. */
  owned(): number {
    const { owners } = this.#shared
    return [...owners.owners.values()].filter(({ nodeId }) => this.#is(nodeId)).length
  }

  #is(nodeId: string | undefined): boolean {
    return nodeId !== undefined && this.#shared.owners.nodes.get(nodeId)?.address === this.name
  }

  /** Checks that a node sends to a device only while no other node owns the device's partition (R2). */
  #broker(broker: Broker): Broker {
    const { violate, owners } = this.#shared
    return withReplaced(broker, {
      listen: async (host) => {
        this.#host = host
        return [{ scheme: 'mqtt', host: 'memory', port: 0 }]
      },
      publish: (downlink) => {
        const owner = owners.owners.get(partitionOf(downlink.deviceId))?.nodeId
        const address = owner === undefined ? undefined : owners.nodes.get(owner)?.address
        // The node that reads the device's lane may report errors late, even if it is no longer the owner.
        const isNote = downlink.suffix === 'error'
        if (address !== undefined && address !== this.name && !isNote)
          violate(`${this.name} sends ${downlink.suffix} to ${downlink.deviceId}, which is ${address}'s (R2)`)
        return this.life.hold(broker.publish(downlink))
      },
    })
  }

  #counted(log: Log): Log {
    const append: Log['append'] = async (bundles, latestAt) => {
      this.#appends++
      try {
        return await log.append(bundles, latestAt)
      } finally {
        this.#appends--
      }
    }
    return withReplaced(log, { append })
  }

  #table(owners: MemoryOwners): OwnershipTable {
    const table = new MemoryOwnership(owners)
    const onCall = table.onChange.bind(table)
    table.onChange = (run) => onCall(() => this.life.run(run))
    return this.#reached('owners', table)
  }

  #heldMesh(): Mesh {
    const { mesh, life } = this
    return {
      address: mesh.address,
      serve: (answer) => mesh.serve(async (question) => life.hold(life.awake().then(() => answer(question)))),
      ask: (address, question, timeoutMs) => life.hold(mesh.ask(address, question, timeoutMs)),
      publish: (topic, message) => mesh.publish(topic, message),
      subscribe: (topic, listener) => mesh.subscribe(topic, (message) => life.run(() => listener(message))),
      isUp: () => mesh.isUp(),
      close: () => mesh.close(),
    }
  }

  #reached<Port extends object>(link: Link, port: Port): Port {
    const code = FAULTS[link]
    return reached(port, {
      life: this.life,
      broken: () => (this.cutLinks.has(link) ? new Fault(code, { retryable: true }) : undefined),
    })
  }
}

const FAULTS: Readonly<Record<Link, FaultCode>> = {
  log: 'LOG_UNAVAILABLE',
  store: 'STORE_UNAVAILABLE',
  telemetry: 'TELEMETRY_UNAVAILABLE',
  owners: 'OWNERSHIP_UNAVAILABLE',
  mesh: 'NODE_UNREACHABLE',
}
