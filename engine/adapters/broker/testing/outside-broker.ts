// For tests: the adapter for a broker outside, with the stand-in for EMQX and devices of MQTT.js.
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { Millis, Partition } from '../../../../schemas/ids.ts'
import { partitionOf } from '../../../domain/partition.ts'
import { LIMITS } from '../../../limits.ts'
import type { UplinkHost } from '../../../ports/broker.ts'
import { realSchedule } from '../../../runtime/schedule.ts'
import { type MqttBroker, type MqttBrokerOptions, openMqttBroker } from '../outside/mqtt.ts'
import { EmqxStandIn, type StandInOptions } from './emqx/stand-in.ts'
import { until } from './fake-host.ts'

export const ALL_LANES = Array.from({ length: LIMITS.lanes }, (_, lane) => ({ partition: Partition(lane) }))

let nodes = 0

/** What the stand-in and EMQX itself have in common. */
type RunningEmqx = Pick<EmqxStandIn, 'url' | 'devicePort' | 'emqxApi' | 'stop'> &
  Readonly<Record<'ingest' | 'api', { readonly user: string; readonly password: string }>>

export class MqttStage<Emqx extends RunningEmqx = EmqxStandIn> {
  readonly emqx: Emqx
  readonly warnings: string[] = []
  readonly #brokers: MqttBroker[] = []
  readonly #devices: MqttClient[] = []
  readonly #mode: 'emqx' | 'plain'

  private constructor(emqx: Emqx, mode: 'emqx' | 'plain') {
    this.emqx = emqx
    this.#mode = mode
  }

  static async open(options: StandInOptions = {}): Promise<MqttStage> {
    return new MqttStage(await EmqxStandIn.start(options), options.mode ?? 'emqx')
  }

  /** EMQX ends with the stage. */
  static on<Emqx extends RunningEmqx>(emqx: Emqx): MqttStage<Emqx> {
    return new MqttStage(emqx, 'emqx')
  }

  /** Opens a node of the ingress, or without a host one that only sends. */
  async broker(
    host?: UplinkHost,
    lanes = ALL_LANES,
    more: Partial<MqttBrokerOptions> = {},
  ): Promise<MqttBroker> {
    const { url, ingest, api, emqxApi } = this.emqx
    const broker = openMqttBroker({
      url,
      ingest,
      api,
      emqxApi,
      mode: this.#mode,
      nodeId: `node${nodes++}`,
      clock: { now: () => Millis(Date.now()), ticks: () => performance.now() },
      schedule: realSchedule,
      partitionOf,
      warn: (message) => this.warnings.push(message),
      ...more,
    })
    this.#brokers.push(broker)
    if (host === undefined) return broker
    broker.gained(lanes)
    await broker.listen(host)
    const count = this.#mode === 'plain' ? 1 : lanes.length
    await until(() => broker.counts().outside?.lanesOpen === count, 'the lanes')
    return broker
  }

  async device(clientId: string, more: IClientOptions = {}): Promise<MqttClient> {
    const options = { clientId, username: clientId, password: 'secret', reconnectPeriod: 0, ...more }
    const client = await connectAsync(`mqtt://127.0.0.1:${this.emqx.devicePort}`, options)
    client.on('error', () => {})
    this.#devices.push(client)
    return client
  }

  async close(): Promise<void> {
    for (const client of this.#devices) await client.endAsync(true)
    for (const broker of this.#brokers) await broker.close()
    await this.emqx.stop()
  }
}
