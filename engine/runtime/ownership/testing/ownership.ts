// For tests: nodes over one table in simulated time. Each of them can die, be paused, or lose the table.
import { expect } from 'vitest'
import { Millis, type Partition } from '../../../../schemas/ids.ts'
import { MemoryOwners, MemoryOwnership } from '../../../adapters/ownership/testing/memory.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Schedule } from '../../../ports/schedule.ts'
import { SimTime } from '../../../testing/time.ts'
import { Ownership } from '../ownership.ts'

const LOOK_EVERY_MS = 50

/** One node: what it believes it owns, and what it did. */
export class TestNode {
  readonly name: string
  readonly owned = new Map<Partition, number>()
  readonly lost: Partition[] = []
  readonly handedOver: Partition[] = []
  readonly ownership: Ownership
  /** How many milliseconds it takes to hand partitions over. */
  handOverMs = 0
  /** How many milliseconds an answer of the table takes. */
  answerMs = 0
  isPaused = false
  /** Whether the table fails to answer: `before` or `after` it has done what was asked. */
  cut: 'no' | 'before' | 'after' = 'no'
  isBlind = false
  /** Whether the node reaches the store and ClickHouse. */
  works = true
  readonly judged: boolean[] = []
  /** The greatest receive time that it gave. `followed` is the greatest that it knows another node may have given. */
  receivedAt = Millis(0)
  followed = Millis(0)
  #lives = 0
  readonly #end: () => void
  readonly #schedule: Schedule

  constructor(name: string, time: SimTime, owners: MemoryOwners) {
    this.name = name
    const { schedule, end } = time.newIncarnation()
    this.#end = end
    this.#schedule = schedule
    const table = new MemoryOwnership(owners)
    this.ownership = new Ownership({
      clock: time,
      schedule: { every: (ms, run) => schedule.every(ms, () => this.isPaused || run()) },
      newNode: () => ({ id: `${name}-${++this.#lives}`, address: name }),
      table: {
        read: () => this.#over(() => (this.isBlind ? Promise.reject(unavailable()) : table.read())),
        renew: (node, revision) => this.#over(() => table.renew(node, revision)),
        expel: (node) => this.#over(() => table.expel(node)),
        claim: (partition, id, epoch) => this.#over(() => table.claim(partition, id, epoch)),
        release: (partition, epoch) => this.#over(() => table.release(partition, epoch)),
        onChange: (run) => table.onChange(() => this.isPaused || run()),
        announceChange: () => table.announceChange(),
      },
      host: {
        gained: (claims) => {
          for (const { partition, epoch } of claims) this.owned.set(partition, epoch)
        },
        lost: (partitions) => {
          for (const partition of partitions) this.owned.delete(partition)
          this.lost.push(...partitions)
        },
        handOver: async (partitions) => {
          if (this.handOverMs > 0) await schedule.sleep(this.handOverMs)
          await this.#awake()
          for (const partition of partitions) this.owned.delete(partition)
          this.handedOver.push(...partitions)
        },
        failed: (error) => expect(error).toBeInstanceOf(Fault),
        isHealthy: () => this.works,
        fitnessChanged: (isUnfit) => this.judged.push(isUnfit),
        receiveTimes: {
          now: () => this.receivedAt,
          follow: (at) => {
            this.followed = Millis(Math.max(at, this.followed))
          },
        },
      },
    })
    this.ownership.start()
  }

  /** The partitions that it would act for now. */
  get active(): readonly Partition[] {
    return !this.isPaused && this.ownership.isCertain() ? [...this.owned.keys()] : []
  }

  /** Ends the node suddenly. */
  die(): void {
    this.isPaused = true
    this.#end()
  }

  async #over<T>(work: () => Promise<T>): Promise<T> {
    if (this.cut === 'before') throw unavailable()
    const result = await work()
    if (this.answerMs > 0) await this.#schedule.sleep(this.answerMs)
    await this.#awake()
    if (this.cut === 'after') throw unavailable()
    return result
  }

  /** Waits while the node is paused, so that an answer it gets may be out of date. */
  async #awake(): Promise<void> {
    while (this.isPaused) await this.#schedule.sleep(LOOK_EVERY_MS)
  }
}

const unavailable = () => new Fault('OWNERSHIP_UNAVAILABLE', { retryable: true })

export class Cluster {
  readonly time = new SimTime(Millis(1_000_000))
  readonly owners = new MemoryOwners()
  readonly nodes: TestNode[] = []

  add(name = `n${this.nodes.length}`): TestNode {
    const node = new TestNode(name, this.time, this.owners)
    this.nodes.push(node)
    return node
  }

  /** Adds two nodes that own half of the partitions each, and read the table at different times. */
  async addTwo(): Promise<readonly [TestNode, TestNode]> {
    const first = this.add()
    await this.advance(LIMITS.ownershipRenewMs / 2)
    const second = this.add()
    await this.advance(1_000)
    expect(this.counts()).toEqual([32, 32])
    first.handedOver.length = 0
    return [first, second]
  }

  /** Lets time pass, and checks that no partition ever has two nodes that act for it. */
  async advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += LOOK_EVERY_MS) {
      await this.time.advance(Math.min(LOOK_EVERY_MS, ms - passed))
      const active = this.nodes.flatMap((node) => node.active)
      expect(active.length).toBe(new Set(active).size)
    }
  }

  /** How many partitions each node acts for. */
  counts(): readonly number[] {
    return this.nodes.map(({ active }) => active.length)
  }

  /** Checks that every partition has an owner, and that living nodes have equal shares. */
  expectBalance(living: readonly TestNode[]): void {
    const counts = living.map(({ active }) => active.length)
    expect(counts.reduce((sum, count) => sum + count)).toBe(LIMITS.partitions)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  }
}
