// An outside broker: EMQX, or any MQTT 5 broker. Uplinks come by lanes (mqtt-lane.ts), which the nodes of the ingress
// share. Downlinks go out by MQTT.js (mqtt-downlinks.ts). EMQX's REST API does what MQTT cannot (emqx-api.ts).
//
// A node of the ingress calls `listen`, and passes `gained`, `lost` and `handOver` to an `Ownership` of `LIMITS.lanes`
// with a table of its own. A lane is named by its first partition. A node that only sends calls none of them, and a node
// that sends nothing opens no connection for sending.
//
// The mode `emqx` expects the rules of deploy/emqx/emqx.conf, which report connections and deliveries. There `publish` of a
// command resolves false, since its delivery is reported to `UplinkHost.delivered`. A `plain` broker has one lane, the
// first, and these gaps: a device counts as connected and subscribed because it sends messages; a command counts as
// delivered once the broker had a subscriber for it; wills, QoS 0 and repeated messages cannot be told apart from others;
// and no device can be cut off.
import { Buffer } from 'node:buffer'
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
import type { Schedule } from '../../../ports/schedule.ts'
import { EmqxApi } from './emqx-api.ts'
import { MqttDownlinks } from './mqtt-downlinks.ts'
import { Lane, type MqttAccount } from './mqtt-lane.ts'
import { laneClientId, laneFilters, PLAIN_FILTERS, partitionsOf } from './mqtt-topics.ts'
import { LaneUplinks, type UplinkTotals } from './mqtt-uplinks.ts'

export interface MqttBrokerOptions {
  /** Address for services, `mqtt:` or `mqtts:`. */
  readonly url: string
  /** Address for devices, if it is a different one. */
  readonly publicUrl?: string
  readonly mode: 'emqx' | 'plain'
  readonly ingest: MqttAccount
  readonly api: MqttAccount
  readonly emqxApi?: { readonly url: string; readonly key: string; readonly secret: string }
  /** Unique among all processes. */
  readonly nodeId: string
  readonly clock: Clock
  readonly schedule: Pick<Schedule, 'after' | 'every'>
  readonly partitionOf: (deviceId: DeviceId) => Partition
  readonly warn: (message: string, about: object) => void
}

interface OpenLane {
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
  readonly #openLanes = new Map<Partition, OpenLane>()
  readonly #totals: UplinkTotals = {
    connects: 0,
    publishes: [0, 0, 0],
    bytesIn: 0,
    refused: 0,
    lostSessions: 0,
  }
  readonly #cutting = new Map<DeviceId, Promise<void>>()
  /** Devices whose sessions were ended because EMQX had let them in unasked. */
  readonly #expelled = new Set<DeviceId>()
  #searchTimer: NodeJS.Timeout | undefined
  #host: UplinkHost | undefined
  #sweepers: readonly NodeJS.Timeout[] = []

  constructor(options: MqttBrokerOptions) {
    const { url, api, emqxApi, mode, nodeId, warn } = options
    this.#options = options
    this.#downlinks = new MqttDownlinks({ url, account: api, clientId: `fleet:api:${nodeId}`, warn })
    this.#emqx = mode === 'emqx' && emqxApi !== undefined ? new EmqxApi({ ...emqxApi, warn }) : undefined
    if (mode === 'plain')
      warn('a plain broker reports no connections and cannot cut off devices: see deploy/README.md', {})
    else if (emqxApi === undefined)
      warn('no device can be cut off, because FLEET_EMQX_API_URL is not set', {})
  }

  async listen(host: UplinkHost): Promise<readonly [Listener, ...Listener[]]> {
    this.#host = host
    for (const lane of this.#owned) this.#read(lane, host)
    const each = (run: (uplinks: LaneUplinks) => void) => () => {
      for (const { uplinks } of this.#openLanes.values()) run(uplinks)
    }
    this.#sweepers = [
      setInterval(
        each((uplinks) => uplinks.sweep()),
        LIMITS.assumedSessionMs / 10,
      ),
      setInterval(
        each((uplinks) => uplinks.warnOfExpiry()),
        LIMITS.tokenWarnEveryMs,
      ),
      setInterval(() => this.#expelled.clear(), LIMITS.expelledKeptMs),
    ]
    return [toListener(this.#options.publicUrl ?? this.#options.url)]
  }

  gained(lanes: readonly { readonly partition: Partition }[]): void {
    for (const { partition } of lanes) {
      this.#owned.add(partition)
      if (this.#host !== undefined) this.#read(partition, this.#host)
    }
  }

  /** Another process may already read them. The broker sends it everything that was not acknowledged. */
  lost(lanes: readonly Partition[]): void {
    for (const partition of lanes) {
      this.#openLanes.get(partition)?.lane.close()
      this.#leave(partition)
    }
  }

  async handOver(lanes: readonly Partition[]): Promise<void> {
    await Promise.all(
      lanes.map(async (partition) => {
        await this.#openLanes.get(partition)?.lane.handOver()
        this.#leave(partition)
      }),
    )
  }

  async publish(downlink: Downlink): Promise<boolean> {
    const { deviceId, suffix, payload, qos, retain, expiresAt, request } = downlink
    const isCommand = isLive(suffix)
    const isPlain = this.#options.mode === 'plain'
    const leftMs = expiresAt === undefined ? undefined : expiresAt - this.#options.clock.now()
    const outcome = await this.#downlinks.publish({
      topic: topicOf(deviceId, suffix),
      payload,
      // With QoS 2 a broker does not report whether there was a subscriber.
      qos: isPlain && isCommand && qos === 2 ? 1 : qos,
      retain: retain && !isCommand,
      isLive: isCommand,
      // Rounded down: a broker may deliver a message until it expires. MQTT allows no less than a second.
      expirySec: leftMs === undefined ? undefined : Math.max(1, Math.floor(leftMs / 1_000)),
      request: request && {
        topic: topicOf(deviceId, request.suffix),
        correlation: Buffer.from(request.correlation),
      },
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
    // The engine asks again while the device keeps sending.
    if (this.#cutting.has(deviceId)) return
    // A decommissioned device never comes back: it is banned, whatever credentials it shows, until its id is free again.
    const isGone = cause === 'revoked'
    const ended = isGone ? this.#emqx?.ban(deviceId, 'decommissioned') : undefined
    const kicked = Promise.resolve(ended).then(() => this.#emqx?.kick(deviceId))
    // Done last, since the device may have published until then.
    const cut = kicked.then(() => {
      this.#cutting.delete(deviceId)
      this.#clear(deviceId)
    })
    this.#cutting.set(deviceId, cut)
  }

  async free(deviceId: DeviceId): Promise<void> {
    await this.#cutting.get(deviceId)
    await this.#emqx?.unban(deviceId)
  }

  end(deviceId: DeviceId): void {
    void this.#emqx?.kick(deviceId)
  }

  isConnected(deviceId: DeviceId): boolean {
    for (const { uplinks } of this.#openLanes.values()) if (uplinks.isConnected(deviceId)) return true
    return false
  }

  counts(): BrokerCounts {
    const { connects, publishes, refused, bytesIn, lostSessions } = this.#totals
    const readings = [...this.#openLanes.values()]
    const [qos0, qos1, qos2] = publishes
    return {
      connected: readings.reduce((sum, { uplinks }) => sum + uplinks.connected, 0),
      admitted: connects,
      denied: 0,
      publishes: [qos0, qos1, qos2],
      refusedTopics: refused,
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
    clearTimeout(this.#searchTimer)
    this.#emqx?.close()
    for (const { lane } of this.#openLanes.values()) lane.close()
    await this.#downlinks.close()
  }

  #read(partition: Partition, host: UplinkHost): void {
    const { mode, url, ingest, clock, schedule, partitionOf, warn } = this.#options
    if (this.#openLanes.has(partition) || (mode === 'plain' && partition !== 0)) return
    const clientId = laneClientId(partition)
    const uplinks = new LaneUplinks({
      host,
      clock,
      partitionOf,
      totals: this.#totals,
      isPlain: mode === 'plain',
      subscriptionsOf: (deviceId) => this.#emqx?.subscriptions(deviceId) ?? Promise.resolve([]),
      expel: (deviceId) => this.#expel(deviceId),
      isVerified: (deviceId) => this.#emqx?.isVerified(deviceId) ?? Promise.resolve(true),
      lane: () => lane,
    })
    const lane: Lane = new Lane({
      url: new URL(url),
      account: ingest,
      clientId,
      filters: mode === 'plain' ? PLAIN_FILTERS : laneFilters(partition),
      clock,
      schedule,
      caughtUp: (at, ticks) => {
        uplinks.caughtUp(ticks)
        host.heard(mode === 'plain' ? ALL_PARTITIONS : partitionsOf(partition), at)
      },
      take: (message, seq) => uplinks.take(message, seq),
      isCongested: () => host.isCongested(),
      opened: ({ isLost }) => {
        this.#searchUnverified()
        if (!isLost) return
        this.#totals.lostSessions++
        warn(
          'the broker has lost a session of the ingress and the messages that waited in it: check that it keeps sessions on disk',
          {
            clientId,
          },
        )
      },
      warn,
    })
    this.#openLanes.set(partition, { lane, uplinks })
  }

  /**
   * A device whose token comes from an earlier version of Fleet looks like a client without one. Its session works, but
   * cannot receive commands, so it is ended only once in a while.
   */
  #expel(deviceId: DeviceId): void {
    if (this.#expelled.has(deviceId)) return
    this.#expelled.add(deviceId)
    void this.#emqx?.kick(deviceId)
  }

  /**
   * Looks for clients that a broker let in right after its start, before it could ask for credentials. Their connects were
   * reported to nobody: at that time EMQX has no rules, and the lanes have no sessions.
   */
  #searchUnverified(): void {
    clearTimeout(this.#searchTimer)
    this.#searchTimer = setTimeout(() => {
      void this.#emqx?.findUnverified((deviceId) => this.#expel(deviceId))
    }, LIMITS.unverifiedSearchAfterMs)
  }

  #leave(partition: Partition): void {
    this.#openLanes.get(partition)?.uplinks.leave()
    this.#openLanes.delete(partition)
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
