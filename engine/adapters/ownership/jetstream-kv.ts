// The table of owners in a JetStream KV bucket with keys `node.<id>` and `partition.<number>`. A revision is the
// bucket's sequence, so revisions grow across all keys. The revision of an entry is its epoch.

import { JetStreamApiCodes, JetStreamApiError, jetstream } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { deadline } from '@nats-io/transport-node'
import { errorText } from '../../../schemas/error-text.ts'
import { Partition } from '../../../schemas/ids.ts'
import { chunks } from '../../domain/chunks.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type {
  NodeEntry,
  OwnerEntry,
  OwnershipNode,
  OwnershipState,
  OwnershipTable,
} from '../../ports/ownership.ts'
import type { NatsLink } from '../nats/nats-link.ts'

export interface KvOwnershipOptions {
  readonly name?: string
  /** The bucket is `<name>-<table>`, and changes are announced on the subject `<name>.<table>`. */
  readonly table?: 'owners' | 'lanes'
  readonly replicas: number
  /** The greatest epoch that the store knows. A NATS that was wiped or restored from a copy would start below it. */
  readonly epochMin?: number
  /** How long a node must have been silent to be removed when there are very many. */
  readonly goneMs?: number
}

const NODE = 'node.'
const PARTITION = 'partition.'
/** A removed entry leaves a marker, without which it may reappear after a crash of the server. */
const MARKERS_KEPT_MS = 3_600_000
/** NATS lists at most 1 024 keys in one answer. Nodes that fail at each start would exceed that within an hour. */
const NODES_MANY = 256
const GONE_MS = 10 * LIMITS.ownershipSilenceMs
const REMOVED_AT_ONCE = 32

/** The caller closes the link. */
export async function openKvOwnership(link: NatsLink, options: KvOwnershipOptions): Promise<OwnershipTable> {
  const { name = 'fleet', table = 'owners', replicas, epochMin = 0, goneMs = GONE_MS } = options
  return withFault(async () => {
    const client = jetstream(link.connection, { timeout: LIMITS.ownershipTimeoutMs })
    const bucket = await new Kvm(client).create(`${name}-${table}`, { history: 1, replicas })
    const ownership = new KvOwnership(link, bucket, { name, table })
    await ownership.replicate(replicas)
    await ownership.raiseRevisions(epochMin)
    await ownership.removeGoneNodes(goneMs)
    await ownership.removeOldMarkers()
    return ownership
  })
}

class KvOwnership implements OwnershipTable {
  readonly #link: NatsLink
  readonly #bucket: KV
  readonly #stream: string
  readonly #keyPrefix: string
  readonly #changeSubject: string

  constructor(
    link: NatsLink,
    bucket: KV,
    { name, table }: { readonly name: string; readonly table: string },
  ) {
    this.#link = link
    this.#bucket = bucket
    this.#stream = `KV_${name}-${table}`
    this.#keyPrefix = `$KV.${name}-${table}.`
    this.#changeSubject = `${name}.${table}`
  }

  read(): Promise<OwnershipState> {
    // Without a timeout, an answer lost with its connection would be awaited much longer.
    return withFault(() => deadline(this.#readAll(), LIMITS.ownershipTimeoutMs))
  }

  /** A bucket that exists keeps its replicas when it is opened, although their number may have been set anew. */
  async replicate(replicas: number): Promise<void> {
    const { streams } = this.#link.manager
    const { config } = await streams.info(this.#stream)
    if (config.num_replicas !== replicas) await streams.update(this.#stream, { num_replicas: replicas })
  }

  /** Makes all future revisions greater than this one, and removes existing entries: they were decided before the loss. */
  async raiseRevisions(epochMin: number): Promise<void> {
    const { streams } = this.#link.manager
    const { state } = await streams.info(this.#stream)
    if (state.last_seq < epochMin) await streams.purge(this.#stream, { seq: epochMin + 1 })
  }

  /** If there are very many nodes and markers, removes all that were last written this long before the newest entry. The
   *  server's clock wrote both times. A node that is still there finds itself expelled. */
  async removeGoneNodes(goneMs: number): Promise<void> {
    const { streams, direct } = this.#link.manager
    const { state } = await streams.info(this.#stream, { subjects_filter: `${this.#keyPrefix}${NODE}*` })
    const subjects = Object.keys(state.subjects ?? {})
    if (subjects.length <= NODES_MANY) return
    const keptFrom = Date.parse(state.last_ts) - goneMs
    for (const some of chunks(subjects, REMOVED_AT_ONCE))
      await Promise.all(
        some.map(async (subject) => {
          const entry = await direct.getMessage(this.#stream, { last_by_subj: subject })
          if (entry !== null && entry.time.getTime() < keptFrom)
            await streams.purge(this.#stream, { filter: subject, seq: entry.seq + 1 })
        }),
      )
  }

  /** Removes markers of nodes that are long gone, because all keys must fit into one answer. */
  async removeOldMarkers(): Promise<void> {
    for await (const { subject, data, time } of await this.#lastMessages()) {
      if (data.length === 0 && Date.now() - time.getTime() > MARKERS_KEPT_MS)
        await this.#link.manager.streams.purge(this.#stream, { filter: subject })
    }
  }

  /** Reads all keys with one request. */
  #lastMessages() {
    return this.#link.manager.direct.getLastMessagesFor(this.#stream, {
      multi_last: [`${this.#keyPrefix}>`],
    })
  }

  async #readAll(): Promise<OwnershipState> {
    const nodes: NodeEntry[] = []
    const owners: OwnerEntry[] = []
    for await (const message of await this.#lastMessages()) {
      // This is the marker of a removed entry.
      if (message.data.length === 0) continue
      const key = message.subject.slice(this.#keyPrefix.length)
      // This class writes all entries.
      if (key.startsWith(NODE)) nodes.push({ ...(message.json() as OwnershipNode), revision: message.seq })
      else owners.push(toOwner(key, message.json() as { readonly nodeId?: string }, message.seq))
    }
    return { nodes, owners }
  }

  async renew(node: OwnershipNode, revision: number): Promise<number | undefined> {
    const key = NODE + node.id
    const value = JSON.stringify(node)
    const renewed = await this.#update(key, value, revision)
    if (renewed !== undefined) return renewed
    // Nobody else writes this entry. If it has the new value, an earlier renewal succeeded but its answer was lost.
    const entry = await withFault(() => this.#bucket.get(key))
    return entry === null || entry.length === 0 ? undefined : this.#update(key, value, entry.revision)
  }

  async expel({ id, revision }: NodeEntry): Promise<boolean> {
    const key = NODE + id
    const removed = await unlessChanged(async () => {
      await this.#bucket.delete(key, { previousSeq: revision })
      return true
    })
    return removed ?? false
  }

  claim(partition: Partition, nodeId: string, epoch: number): Promise<number | undefined> {
    return this.#update(PARTITION + partition, JSON.stringify({ nodeId }), epoch)
  }

  async release(partition: Partition, epoch: number): Promise<void> {
    await this.#update(PARTITION + partition, JSON.stringify({}), epoch)
  }

  onChange(run: () => void): () => void {
    const subscription = this.#link.connection.subscribe(this.#changeSubject, { callback: () => run() })
    return () => subscription.unsubscribe()
  }

  announceChange(): void {
    if (this.#link.isConnected) this.#link.connection.publish(this.#changeSubject)
  }

  #update(key: string, value: string, revision: number): Promise<number | undefined> {
    return unlessChanged(() =>
      revision === 0
        ? this.#bucket.create(key, value)
        : this.#bucket.update(key, value, revision, LIMITS.ownershipTimeoutMs),
    )
  }
}

function toOwner(key: string, { nodeId }: { readonly nodeId?: string }, epoch: number): OwnerEntry {
  return { partition: Partition(Number(key.slice(PARTITION.length))), nodeId, epoch }
}

/** Returns undefined if the entry has another revision. */
async function unlessChanged<T>(change: () => Promise<T>): Promise<T | undefined> {
  try {
    return await change()
  } catch (error) {
    const codes: readonly number[] = [
      JetStreamApiCodes.StreamWrongLastSequence,
      JetStreamApiCodes.StreamWrongLastSequenceUnknown,
    ]
    if (error instanceof JetStreamApiError && codes.includes(error.code)) return undefined
    throw toFault(error)
  }
}

async function withFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toFault(error)
  }
}

function toFault(error: unknown): Fault {
  const message = errorText(error)
  return new Fault('OWNERSHIP_UNAVAILABLE', { retryable: true, message, cause: error })
}
