// For tests: engines of several nodes over one log, store, mesh and table of owners, in simulated time.

import type { BroadcastId } from '../../../../schemas/ids.ts'
import { MemoryBroker } from '../../../adapters/broker/testing/memory.ts'
import { MemoryLog } from '../../../adapters/log/testing/memory.ts'
import { MemoryMesh, MemoryNet } from '../../../adapters/mesh/testing/memory.ts'
import { MemoryOwners, MemoryOwnership } from '../../../adapters/ownership/testing/memory.ts'
import { MemoryStore } from '../../../adapters/store/testing/memory.ts'
import { MemoryTelemetry } from '../../../adapters/telemetry/testing/memory.ts'
import { MemoryUsers } from '../../../adapters/users/testing/memory.ts'
import { ALL_PARTITIONS, partitionOf } from '../../../domain/partition.ts'
import { CONNACK } from '../../../ports/broker.ts'
import type { RequestOutcome } from '../../../ports/engine.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Log } from '../../../ports/log.ts'
import type { OwnershipTable } from '../../../ports/ownership.ts'
import type { Schedule } from '../../../ports/schedule.ts'
import { SimTime } from '../../../testing/time.ts'
import { LocalEngine } from '../../engine.ts'
import { TEST_OTA } from '../../ota/testing/ota-settings.ts'
import { inlineThread } from '../../runner/thread.ts'
import { idOf, START } from '../../shard/testing/items.ts'

export interface TestNode {
  readonly name: string
  readonly engine: LocalEngine
  readonly broker: MemoryBroker
  readonly mesh: MemoryMesh
  readonly fatal: unknown[]
  /** Ends the node as `kill -9` does. */
  die(): void
  close(): Promise<void>
}

export class TestNodes {
  readonly time = new SimTime(START)
  readonly log = new MemoryLog()
  readonly store = new MemoryStore({ partitionOf })
  readonly telemetry = new MemoryTelemetry()
  readonly #users = new MemoryUsers()
  readonly #net = new MemoryNet()
  readonly #owners = new MemoryOwners()
  /** While true, entries of the log are read late. */
  isBehind = false
  #ids = 0

  /** `shards`: 0 for a node that owns nothing. */
  async open(name: string, shards = 1): Promise<TestNode> {
    const incarnation = this.time.newIncarnation()
    const broker = new MemoryBroker()
    const mesh = new MemoryMesh(this.#net, name)
    const fatal: unknown[] = []
    // Shared ports survive the end of this node.
    const kept = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get(target, key) {
          if (key === 'close') return async () => {}
          const value: unknown = Reflect.get(target, key)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    const table = new MemoryOwnership(this.#owners)
    let isDead = false
    const onChange: OwnershipTable['onChange'] = (run) => table.onChange(() => isDead || run())
    const owners = new Proxy(kept(table), {
      get: (target, key) => (key === 'onChange' ? onChange : Reflect.get(target, key)),
    })
    const engine = new LocalEngine(
      {
        clock: this.time,
        log: this.#slow(kept(this.log), incarnation.schedule),
        store: kept(this.store),
        users: this.#users,
        telemetry: kept(this.telemetry),
        broker,
        cluster: { mesh, owners },
      },
      {
        shards,
        listens: true,
        heartbeatTimeoutMs: 60_000,
        ota: TEST_OTA,
        build: { version: 'test', commit: 'test' },
      },
      {
        schedule: incarnation.schedule,
        openThread: (settings) => inlineThread(settings, () => 0),
        newId: () => `${name}-${this.#ids++}`,
        warn: () => {},
        fatal: (error) => fatal.push(error),
        admit: async () => ({
          kind: 'denied',
          code: CONNACK.unauthorized,
          reason: 'nobody connects here',
        }),
      },
    )
    await engine.open()
    return {
      name,
      engine,
      broker,
      mesh,
      fatal,
      die: () => {
        isDead = true
        mesh.isCut = true
        incarnation.end()
      },
      close: async () => {
        const closed = engine.close()
        await this.time.advance(5_000)
        await closed
        await mesh.close()
      },
    }
  }

  #slow(log: Log, schedule: Schedule): Log {
    const reader: Log['reader'] = (partitions, from) => {
      const inner = log.reader(partitions, from)
      const pull = async (bytesMax: number) => {
        const portion = await inner.pull(bytesMax)
        while (this.isBehind) await schedule.sleep(10)
        return portion
      }
      return { pull, isCaughtUp: () => inner.isCaughtUp(), close: () => inner.close() }
    }
    return new Proxy(log, { get: (target, key) => (key === 'reader' ? reader : Reflect.get(target, key)) })
  }

  /** The outcome of the work, or a text if there is none within this time. */
  async within<T>(ms: number, work: Promise<T>): Promise<T | string> {
    let outcome: T | string = 'nothing yet'
    work.then(
      (value) => {
        outcome = value
      },
      (error: unknown) => {
        outcome = error instanceof Fault ? error.code : String(error)
      },
    )
    await this.time.advance(ms)
    return outcome
  }

  /** Makes the broker at this node report from now on that it has handed over everything. */
  hearFrom({ broker }: TestNode): void {
    this.time.newIncarnation().schedule.every(500, () => broker.host.heard(ALL_PARTITIONS, this.time.now()))
  }

  register(node: TestNode, id: string): Promise<RequestOutcome | string> {
    const request = { kind: 'register', name: id, type: 'mqtt_device', group: 'g' } as const
    return this.within(1_000, node.engine.submit(idOf(id), request, { by: { kind: 'user', id: 'usr_1' } }))
  }

  rename(node: TestNode, id: string, name: string): Promise<RequestOutcome> {
    return node.engine.submit(
      idOf(id),
      { kind: 'edit', replace: false, name },
      { by: { kind: 'user', id: 'usr_1' } },
    )
  }

  async nameOf(node: TestNode, id: string): Promise<string | undefined> {
    const view = await this.within(1_000, node.engine.view(idOf(id)))
    return typeof view === 'object' ? view.device.name : view
  }

  /** Counts the broadcast's commands by status. */
  counts(node: TestNode, broadcastId: BroadcastId): Promise<unknown> {
    const state = node.engine.broadcastState(broadcastId, { offset: 0, limit: 10 })
    return this.within(
      1_000,
      state.then((found) => found?.counts),
    )
  }
}
