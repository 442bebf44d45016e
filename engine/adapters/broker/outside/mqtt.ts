// The broker outside: EMQX, or any MQTT 5 broker. What devices say comes by lanes (mqtt-lane.ts), which nodes of the
// ingress share among them; what they are told goes out by MQTT.js (mqtt-downlinks.ts), with EMQX's REST API for what MQTT
// cannot say (emqx-api.ts).
//
// A node of the ingress calls `listen`, and hands `gained`, `lost` and `handOver` to an `Ownership` of `LIMITS.lanes` over
// a table of its own: a lane is named by its first partition. A node that only sends does neither; one that sends nothing
// has no connection for it.
//
// With `emqx` the rules of deploy/emqx/emqx.conf are expected: they tell of connections and of what was delivered, and a
// `publish` of a command resolves false, since `UplinkHost.delivered` comes by them. A `plain` broker has one lane, the
// first, and these gaps: a device is connected by its messages alone, and listens; a command counts as delivered once the broker had
// somebody to give it to; wills, QoS 0 and what came twice look like anything else; nobody can be cut off.
import { type DeviceId, Partition } from '../../../../schemas/ids.ts'
import { topicOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import {
  type Broker,
  type BrokerCounts,
  type Downlink,
  type EndCause,
  isLive,
  type Listener,
  type UplinkHost,
} from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { EmqxApi } from './emqx-api.ts'
import { MqttDownlinks } from './mqtt-downlinks.ts'
import { Lane, type MqttAccount } from './mqtt-lane.ts'
import { laneClientId, laneFilters, PLAIN_FILTERS, partitionsOf } from './mqtt-topics.ts'
import { LaneUplinks, type UplinkTotals } from './mqtt-uplinks.ts'

export interface MqttBrokerOptions {
  /** Where services connect, `mqtt:` or `mqtts:`. */
  readonly url: string
  /** Where devices connect; the service itself does not. */
  readonly publicUrl?: string
  readonly mode: 'emqx' | 'plain'
  readonly ingest: MqttAccount
  readonly api: MqttAccount
  readonly emqxApi?: { readonly url: string; readonly key: string; readonly secret: string }
  /** Unlike that of any other process. */
  readonly nodeId: string
  readonly clock: Clock
  readonly partitionOf: (deviceId: DeviceId) => Partition
  readonly warn: (message: string, about: object) => void
}

interface Reading {
  readonly lane: Lane
  readonly uplinks: LaneUplinks
}

const RETAINED = ['status', 'shadow/desired', 'shadow/reported']
const PORTS = { mqtt: 1883, mqtts: 8883, wss: 443 }
const ALL_PARTITIONS = Array.from({ length: LIMITS.partitions }, (_, partition) => Partition(partition))
const EMPTY = new Uint8Array(0)

export class MqttBroker implements Broker {
  readonly #options: MqttBrokerOptions
  readonly #downlinks: MqttDownlinks
  readonly #emqx: EmqxApi | undefined
  readonly #owned = new Set<Partition>()
  readonly #readings = new Map<Partition, Reading>()
  readonly #totals: UplinkTotals = {
    connects: 0,
    publishes: [0, 0, 0],
    bytesIn: 0,
    strange: 0,
    lostSessions: 0,
  }
  readonly #cutting = new Set<DeviceId>()
  #host: UplinkHost | undefined
  #sweepers: readonly NodeJS.Timeout[] = []

  constructor(options: MqttBrokerOptions) {
    const { url, api, emqxApi, mode, nodeId, warn } = options
    this.#options = options
    this.#downlinks = new MqttDownlinks({ url, account: api, clientId: `fleet:api:${nodeId}`, warn })
    this.#emqx = mode === 'emqx' && emqxApi !== undefined ? new EmqxApi({ ...emqxApi, warn }) : undefined
    if (mode === 'plain')
      warn(
        'a plain broker tells nothing of connections, and lets nobody be cut off: see deploy/README.md',
        {},
      )
    else if (emqxApi === undefined) warn('without access to EMQX’s API nobody can be cut off', {})
  }

  async listen(host: UplinkHost): Promise<readonly [Listener, ...Listener[]]> {
    this.#host = host
    for (const lane of this.#owned) this.#read(lane, host)
    const each = (run: (uplinks: LaneUplinks) => void) => () => {
      for (const { uplinks } of this.#readings.values()) run(uplinks)
    }
    this.#sweepers = [
      setInterval(
        each((uplinks) => uplinks.sweep()),
        LIMITS.assumedSessionMs / 10,
      ),
      setInterval(
        each((uplinks) => uplinks.speakWills()),
        LIMITS.willWaitMs / 2,
      ),
    ]
    return [toListener(this.#options.publicUrl ?? this.#options.url)]
  }

  gained(lanes: readonly { readonly partition: Partition }[]): void {
    for (const { partition } of lanes) {
      this.#owned.add(partition)
      if (this.#host !== undefined) this.#read(partition, this.#host)
    }
  }

  /** Another process may have them already: what was read and is not acknowledged is sent to it again. */
  lost(lanes: readonly Partition[]): void {
    for (const partition of lanes) {
      this.#readings.get(partition)?.lane.close()
      this.#leave(partition)
    }
  }

  /** Resolves once everything read from them is acknowledged, and they are read no more. */
  async handOver(lanes: readonly Partition[]): Promise<void> {
    await Promise.all(
      lanes.map(async (partition) => {
        await this.#readings.get(partition)?.lane.handOver()
        this.#leave(partition)
      }),
    )
  }

  async publish(downlink: Downlink): Promise<boolean> {
    const { deviceId, suffix, payload, qos, retain, expiresAt } = downlink
    const isCommand = isLive(suffix)
    const isPlain = this.#options.mode === 'plain'
    const leftMs = expiresAt === undefined ? undefined : expiresAt - this.#options.clock.now()
    const outcome = await this.#downlinks.publish({
      topic: topicOf(deviceId, suffix),
      payload,
      // Of QoS 2 a broker does not say whether anybody was there.
      qos: isPlain && isCommand && qos === 2 ? 1 : qos,
      retain: retain && !isCommand,
      isLive: isCommand,
      expirySec: leftMs === undefined ? undefined : Math.max(1, Math.ceil(leftMs / 1_000)),
    })
    return isCommand ? isPlain && outcome === 'taken' : outcome !== 'lost'
  }

  publishToGroup(
    group: string,
    { suffix, payload, qos }: Pick<Downlink, 'suffix' | 'payload' | 'qos'>,
  ): void {
    const topic = `fleet/$group/${group}/${suffix}`
    void this.#downlinks.publish({ topic, payload, qos, retain: false, isLive: false })
  }

  cut(deviceId: DeviceId, cause: EndCause): void {
    // It is asked for again while the device still talks.
    if (this.#cutting.has(deviceId)) return
    this.#cutting.add(deviceId)
    // A decommissioned device never comes back: the ban is for good, and also for its certificate.
    const isGone = cause === 'revoked'
    const ended = isGone ? this.#emqx?.ban(deviceId, 'decommissioned') : undefined
    const kicked = Promise.resolve(ended).then(() => this.#emqx?.kick(deviceId))
    // Last: until then the device could have said something more.
    void kicked.then(() => {
      this.#cutting.delete(deviceId)
      this.#clear(deviceId)
    })
  }

  /** Connected for what devices are told. */
  get isSending(): boolean {
    return this.#downlinks.isConnected
  }

  isConnected(deviceId: DeviceId): boolean {
    for (const { uplinks } of this.#readings.values()) if (uplinks.isConnected(deviceId)) return true
    return false
  }

  counts(): BrokerCounts {
    const { connects, publishes, strange, bytesIn, lostSessions } = this.#totals
    const readings = [...this.#readings.values()]
    const [qos0, qos1, qos2] = publishes
    return {
      connected: readings.reduce((sum, { uplinks }) => sum + uplinks.connected, 0),
      admitted: connects,
      denied: 0,
      publishes: [qos0, qos1, qos2],
      refusedTopics: strange,
      bytesIn,
      cutFrozen: 0,
      shedQos0: 0,
      outside: {
        lanesOwned: readings.length,
        lanesOpen: readings.filter(({ lane }) => lane.isOpen).length,
        unacknowledged: readings.reduce((sum, { lane }) => sum + lane.pending, 0),
        lostSessions,
        downlinksWaiting: this.#downlinks.waiting,
        downlinksDropped: this.#downlinks.dropped,
        callsWaiting: this.#emqx?.waiting ?? 0,
        callsDropped: this.#emqx?.dropped ?? 0,
      },
    }
  }

  async close(): Promise<void> {
    for (const sweeper of this.#sweepers) clearInterval(sweeper)
    this.#emqx?.close()
    for (const { lane } of this.#readings.values()) lane.close()
    await this.#downlinks.close()
  }

  #read(partition: Partition, host: UplinkHost): void {
    const { mode, url, ingest, clock, partitionOf, warn } = this.#options
    if (this.#readings.has(partition) || (mode === 'plain' && partition !== 0)) return
    const clientId = laneClientId(partition)
    const uplinks = new LaneUplinks({
      host,
      clock,
      partitionOf,
      totals: this.#totals,
      isPlain: mode === 'plain',
      subscriptionsOf: (deviceId) => this.#emqx?.subscriptions(deviceId) ?? Promise.resolve([]),
      lane: () => lane,
    })
    const lane: Lane = new Lane({
      url: new URL(url),
      account: ingest,
      clientId,
      filters: mode === 'plain' ? PLAIN_FILTERS : laneFilters(partition),
      clock,
      caughtUp: (at) => host.heard(mode === 'plain' ? ALL_PARTITIONS : partitionsOf(partition), at),
      take: (message, seq) => uplinks.take(message, seq),
      isCongested: () => host.isCongested(),
      forgotten: () => {
        this.#totals.lostSessions++
        warn('the broker has lost a session of the ingress, and what waited in it', { clientId })
      },
      warn,
    })
    this.#readings.set(partition, { lane, uplinks })
  }

  #leave(partition: Partition): void {
    this.#readings.get(partition)?.uplinks.leave()
    this.#readings.delete(partition)
    this.#owned.delete(partition)
  }

  #clear(deviceId: DeviceId): void {
    for (const suffix of RETAINED) {
      const topic = topicOf(deviceId, suffix)
      void this.#downlinks.publish({ topic, payload: EMPTY, qos: 1, retain: true, isLive: false })
    }
  }
}

export function openMqttBroker(options: MqttBrokerOptions): MqttBroker {
  return new MqttBroker(options)
}

function toListener(url: string): Listener {
  const { protocol, hostname, port } = new URL(url)
  const scheme = protocol === 'mqtts:' ? 'mqtts' : protocol === 'wss:' ? 'wss' : 'mqtt'
  return { scheme, host: hostname, port: Number(port || PORTS[scheme]) }
}
