// A simulated cluster: several nodes over one log, store, ClickHouse, broker and table of owners. Any of them may die,
// stand still or lose a connection while the others go on, and the store may be put back to an older state.
import { MemoryNet } from '../../adapters/mesh/testing/memory.ts'
import { MemoryOwners } from '../../adapters/ownership/testing/memory.ts'
import type { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { MemoryUsers } from '../../adapters/users/testing/memory.ts'
import { LIMITS } from '../../limits.ts'
import { CALM, type Luck } from '../faults.ts'
import { type CallHost, type FeedListener, Place } from '../place.ts'
import type { SimulatedDevice } from '../simulated-device.ts'
import { SimTelemetry } from '../telemetry.ts'
import { LINKS } from './links.ts'
import { OutsideBroker } from './outside-broker.ts'
import { SharedLog } from './shared-log.ts'
import { SharedStore } from './shared-store.ts'
import { type SharedWorld, SimNode } from './sim-node.ts'

const NODES = 3
/** Two nodes may be twice as far apart: more than the time in which a dead one's work is taken over. */
const SKEW_MS = 3_000
/** What was read is being appended by then. */
const LINGER_MS = LIMITS.gatherReportsMs
/** The log keeps what is settled for so long, and the store is never put back further than half of it. */
const RETENTION_MS = 120_000

/** Probabilities of what befalls nodes in a step, drawn once per seed. */
interface Misfortune {
  readonly dies: number
  readonly pauses: number
  readonly cuts: number
  readonly setsBack: number
  /** How far a node's clock may be from the time. */
  readonly skewMs: number
}

export class ClusterWorld extends Place {
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
  /** True if the log has so little room that what is settled goes before it is old. */
  readonly isTight: boolean
  readonly #shared: SharedWorld
  readonly #misfortune: Misfortune
  #door = 0
  #ear: SimNode | undefined
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
    // Twice the largest append, which else finds no room for good beside the small ones of other nodes.
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
    const node = this.nodes[this.#door % Math.max(1, this.nodes.length)]
    return node && { engine: node.engine, after: node.after, isOver: () => node.life.isOver }
  }

  override get store(): MemoryStore {
    return this.sharedStore.now
  }

  /** Only the leader does anything. */
  override async settle(): Promise<void> {
    await Promise.all(this.nodes.map(({ engine }) => engine.settleRollups()))
  }

  /** After the store went back, another listener hears the devices from where they are then. */
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
      if (this.#ear === node && !node.life.isOver) this.#listener?.hear(events)
    })
    if (this.#ear === undefined) this.#hearAtAny()
    await node.engine.open()
    this.say(`${node.name} started`)
  }

  kill(node: SimNode): void {
    node.die()
    this.nodes.splice(this.nodes.indexOf(node), 1)
    if (this.#ear === node) this.#hearAtAny()
    this.say(`${node.name} is dead`)
  }

  /** Everybody ends, and begins again with what is stored. */
  async setBack(ms: number): Promise<void> {
    this.say(`the store goes back by ${ms} ms`)
    this.wasSetBack = true
    for (const node of [...this.nodes]) this.kill(node)
    this.#leave(() => true)
    const saves = await this.sharedStore.setBack(ms)
    this.log.startOver()
    this.ledger.setBack(saves)
    // They are in no message of the log.
    this.pledges.broadcasts.clear()
    // Silence, which moved the revision that an edit names, is in none either.
    for (const kept of this.promised.values()) kept.edits = kept.plainEdits
    this.#listener = this.#newListener?.()
  }

  /** What befalls nodes in one step. */
  async befall(): Promise<void> {
    const { dice } = this
    const { dies, pauses, cuts, setsBack } = this.#misfortune
    this.#door = dice.between(0, NODES - 1)
    await this.time.advance(LINGER_MS)
    for (const node of [...this.nodes]) {
      if (dice.chance(dies)) this.kill(node)
      else if (dice.chance(pauses)) this.#pause(node, dice.pick([200, 2_000, 6_000, 20_000]))
      else if (dice.chance(cuts)) this.#cut(node, dice.pick([500, 3_000, 10_000, 30_000]))
    }
    if (!this.isTight && dice.chance(setsBack)) await this.setBack(dice.between(0, RETENTION_MS / 2))
    if (this.nodes.length < NODES && dice.chance(0.4)) await this.add()
  }

  /** Ends all faults. Every node is there in the end. */
  async calm(): Promise<void> {
    this.luck = CALM satisfies Luck
    for (const node of this.nodes) {
      node.heal()
      node.resume()
    }
    await this.start()
    this.say('calm')
  }

  /** True if something in the log is not applied yet. */
  isBehind(): boolean {
    const [applied, inserted] = [this.store.applied(), this.store.inserted()]
    const reached = (p: number) => Math.max(applied[p] ?? 0, inserted[p] ?? 0)
    return this.log.now.ends().some((end, partition) => end > reached(partition))
  }

  #living(): SimNode {
    const node = this.nodes.find(({ isRunning }) => isRunning) ?? this.nodes[0]
    if (node === undefined) throw new Error('no node is there')
    return node
  }

  /** Listens at another node from the next millisecond on, when what the one before heard is on its way to nobody. A node
   *  that stands still would tell late what another one has told. */
  #hearAtAny(): void {
    this.#ear = undefined
    this.#later(1, () => {
      this.#ear ??= this.nodes.find(({ isRunning }) => isRunning)
      this.#listener?.startOver()
    })
  }

  #pause(node: SimNode, ms: number): void {
    // What a reader took and did not append, its broker gives to the next reader, and what it appends late is known as a
    // repeat by the broker's ids, which this broker does not have.
    if (node.life.isPaused || node.isAppending) return
    node.pause()
    if (this.#ear === node) this.#hearAtAny()
    this.say(`${node.name} stands still for ${ms} ms`)
    this.#later(ms, () => {
      if (node.isRunning || node.life.isOver) return
      this.say(`${node.name} goes on`)
      node.resume()
      if (this.#ear === undefined) this.#hearAtAny()
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

  /** These devices lose their connections without noticing. */
  #leave(isAmong: (device: SimulatedDevice) => boolean): void {
    for (const device of this.devices) {
      if (!isAmong(device)) continue
      device.session?.end('lost')
      device.session = undefined
    }
  }
}
