// A simulated cluster of several nodes that share a log, store, ClickHouse, broker and table of owners. Each node may die,
// pause or lose a connection while the others go on, and the store may be put back to an older state.
import { MemoryNet } from '../../adapters/mesh/testing/memory.ts'
import { MemoryOwners } from '../../adapters/ownership/testing/memory.ts'
import type { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { MemoryUsers } from '../../adapters/users/testing/memory.ts'
import { LIMITS } from '../../limits.ts'
import { BaseWorld, type CallHost, type FeedListener } from '../base-world.ts'
import { CALM, type Luck } from '../faults.ts'
import type { SimulatedDevice } from '../simulated-device.ts'
import { SimTelemetry } from '../telemetry.ts'
import { LINKS } from './links.ts'
import { OutsideBroker } from './outside-broker.ts'
import { SharedLog } from './shared-log.ts'
import { SharedStore } from './shared-store.ts'
import { type SharedWorld, SimNode } from './sim-node.ts'

const NODES = 3
/** The clocks of two nodes may differ by twice as much, which is longer than a takeover from a dead node takes. */
const SKEW_MS = 3_000
/** After this time, messages that were read are being appended. */
const LINGER_MS = LIMITS.gatherReportsMs
/** The log keeps settled entries for this time, and the store is put back by at most half of it. */
const RETENTION_MS = 120_000

/** Probabilities of faults of nodes in a step. They are drawn once per seed. */
interface Misfortune {
  readonly dies: number
  readonly pauses: number
  readonly cuts: number
  readonly setsBack: number
  /** How far the clock of a node may be off. */
  readonly skewMs: number
}

export class ClusterWorld extends BaseWorld {
  protected override readonly partitions = LIMITS.partitions
  override readonly reorderedMsMax = 1_000
  override readonly skewMs = SKEW_MS
  readonly outside: OutsideBroker
  readonly log: SharedLog
  readonly sharedStore = new SharedStore(
    () => this.time.ticks(),
    (claims) => this.#listener?.takenOver(new Set(claims.map(({ partition }) => partition))),
  )
  readonly nodes: SimNode[] = []
  /** True if the log has so little room that it removes settled entries early. */
  readonly isTight: boolean
  readonly #shared: SharedWorld
  readonly #misfortune: Misfortune
  #callersNode = 0
  #feedNode: SimNode | undefined
  #listener: FeedListener | undefined
  #newListener: (() => FeedListener) | undefined
  #ids = 0
  #started = 0

  constructor(seed: number) {
    super(seed)
    const { dice, time, ledger } = this
    const now = (probability: number) => (dice.chance(0.6) ? probability : 0)
    this.#misfortune = {
      dies: now(0.03),
      pauses: now(0.05),
      cuts: now(0.1),
      setsBack: now(0.02),
      skewMs: now(SKEW_MS),
    }
    this.isTight = dice.chance(0.3)
    // This is twice the largest append. With less room, small appends of other nodes could make a large one wait forever.
    const room = this.isTight ? { bytesMax: dice.between(40_000, 60_000) } : {}
    this.log = new SharedLog({ retentionMs: RETENTION_MS, ...room }, (bundles) => ledger.appended(bundles))
    this.outside = new OutsideBroker({
      admit: async ({ clientId }) => this.admit(clientId),
      sessionNumber: () => this.#living().host.sessionNumber(),
      left: (isOfLane) => this.#leave(({ id }) => isOfLane(id)),
    })
    this.#shared = {
      ...{ dice, time, ledger, log: this.log, store: this.sharedStore, outside: this.outside },
      users: new MemoryUsers(),
      telemetry: new SimTelemetry(this.rows),
      net: new MemoryNet(),
      owners: new MemoryOwners(),
      lanes: new MemoryOwners(),
      luck: () => this.luck,
      newId: () => `${this.#ids++}`,
      say: (line) => this.say(line),
      violate: (what) => this.violate(what),
      died: (node, where) => {
        if (node.life.isOver) return
        this.say(`${node.name} dies ${where}`)
        this.kill(node)
      },
    }
  }

  override get process(): CallHost | undefined {
    const node = this.nodes[this.#callersNode % Math.max(1, this.nodes.length)]
    return node && { engine: node.engine, after: node.after, isOver: () => node.life.isOver }
  }

  override get store(): MemoryStore {
    return this.sharedStore.now
  }

  /** Asks all nodes, of which only the leader does anything. */
  override async settle(): Promise<void> {
    await Promise.all(this.nodes.map(({ engine }) => engine.settleRollups()))
  }

  /** A new listener is made after the store was put back, because revisions begin again from there. */
  listen(newListener: () => FeedListener): void {
    this.#newListener = newListener
    this.#listener = newListener()
  }

  async start(): Promise<void> {
    while (this.nodes.length < NODES) await this.add()
  }

  async add(): Promise<void> {
    const { skewMs } = this.#misfortune
    const node = new SimNode(`node-${++this.#started}`, this.#shared, this.dice.between(-skewMs, skewMs))
    this.nodes.push(node)
    const all = { all: true, devices: new Set<never>() }
    node.engine.feed.want({ telemetry: all, timeline: all, log: all })
    node.engine.feed.listen((events) => {
      if (this.#feedNode === node && !node.life.isOver) this.#listener?.hear(events)
    })
    if (this.#feedNode === undefined) this.#listenToAnother()
    await node.engine.open()
    this.say(`${node.name} started`)
  }

  kill(node: SimNode): void {
    node.die()
    this.nodes.splice(this.nodes.indexOf(node), 1)
    if (this.#feedNode === node) this.#listenToAnother()
    this.say(`${node.name} is dead`)
  }

  /** Ends all nodes and puts the store back. New nodes begin with what is stored then. */
  async setBack(ms: number): Promise<void> {
    this.say(`the store goes back by ${ms} ms`)
    this.wasSetBack = true
    for (const node of [...this.nodes]) this.kill(node)
    this.#leave(() => true)
    const saves = await this.sharedStore.setBack(ms)
    this.log.startOver()
    this.ledger.setBack(saves)
    // Broadcasts are not in the log, so they may be lost.
    this.pledges.broadcasts.clear()
    // Silence is not in the log either. Without it revisions differ, so edits that named a revision may now be refused.
    for (const kept of this.promised.values()) kept.edits = kept.plainEdits
    this.#listener = this.#newListener?.()
  }

  /** Causes faults of nodes and lets time pass. */
  async causeFaults(): Promise<void> {
    const { dice } = this
    const { dies, pauses, cuts, setsBack } = this.#misfortune
    this.#callersNode = dice.between(0, NODES - 1)
    await this.time.advance(LINGER_MS)
    for (const node of [...this.nodes]) {
      if (dice.chance(dies)) this.kill(node)
      else if (dice.chance(pauses)) this.#pause(node, dice.pick([200, 2_000, 6_000, 20_000]))
      else if (dice.chance(cuts)) this.#cut(node, dice.pick([500, 3_000, 10_000, 30_000]))
    }
    if (!this.isTight && dice.chance(setsBack)) await this.setBack(dice.between(0, RETENTION_MS / 2))
    if (this.nodes.length < NODES && dice.chance(0.4)) await this.add()
  }

  /** Ends all faults and starts missing nodes. */
  async calm(): Promise<void> {
    this.luck = CALM satisfies Luck
    for (const node of this.nodes) {
      node.heal()
      node.resume()
    }
    await this.start()
    this.say('calm')
  }

  /** True while entries of the log are not applied yet. */
  isBehind(): boolean {
    const [applied, inserted] = [this.store.applied(), this.store.inserted()]
    const reached = (p: number) => Math.max(applied[p] ?? 0, inserted[p] ?? 0)
    return this.log.now.ends().some((end, partition) => end > reached(partition))
  }

  #living(): SimNode {
    const node = this.nodes.find(({ isRunning }) => isRunning) ?? this.nodes[0]
    if (node === undefined) throw new Error('no node is running')
    return node
  }

  /** Listens to the feed of a running node. It begins a millisecond later, when no event of the previous node is on its way
   *  any more. A paused node would deliver late what another one has delivered already. */
  #listenToAnother(): void {
    this.#feedNode = undefined
    this.#later(1, () => {
      this.#feedNode ??= this.nodes.find(({ isRunning }) => isRunning)
      this.#listener?.startOver()
    })
  }

  #pause(node: SimNode, ms: number): void {
    // A real broker gives unappended messages of a paused reader to the next one, and its ids reveal the late copies. This
    // broker has no such ids, so a node is not paused while it appends.
    if (node.life.isPaused || node.isAppending) return
    node.pause()
    if (this.#feedNode === node) this.#listenToAnother()
    this.say(`${node.name} stands still for ${ms} ms`)
    this.#later(ms, () => {
      if (node.isRunning || node.life.isOver) return
      this.say(`${node.name} goes on`)
      node.resume()
      if (this.#feedNode === undefined) this.#listenToAnother()
    })
  }

  #cut(node: SimNode, ms: number): void {
    const link = this.dice.pick(LINKS)
    if (link === 'mesh' && ms > 3_000) return
    node.cut(link)
    this.say(`${node.name} loses ${link} for ${ms} ms`)
    this.#later(ms, () => {
      if (!node.life.isOver) node.heal()
    })
  }

  #later(ms: number, run: () => void): void {
    this.time.newIncarnation().schedule.after(ms, run)
  }

  /** Ends the connections of these devices without telling them. */
  #leave(isAmong: (device: SimulatedDevice) => boolean): void {
    for (const device of this.devices) {
      if (!isAmong(device)) continue
      device.session?.end('lost')
      device.session = undefined
    }
  }
}
