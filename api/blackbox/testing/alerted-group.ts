// A group of devices for tests: a rule fires for each of them whose `t` is above 10, and a channel tells a sink.
import type { MqttClient } from 'mqtt'
import { type Service, until } from './service.ts'
import { connectDevice, publish } from './service-clients.ts'
import { type Rest, registerDevice } from './service-rest.ts'
import type { WebhookSink } from './webhook-sink.ts'

export class AlertedGroup {
  readonly names: readonly string[]
  readonly #admin: Rest
  readonly #sink: WebhookSink
  readonly #ruleId: string
  readonly #devices: ReadonlyMap<string, MqttClient>
  /** The alert of each device. */
  #alerts: ReadonlyMap<string, string> = new Map()

  private constructor(parts: {
    readonly admin: Rest
    readonly sink: WebhookSink
    readonly ruleId: string
    readonly devices: ReadonlyMap<string, MqttClient>
  }) {
    this.names = [...parts.devices.keys()]
    this.#admin = parts.admin
    this.#sink = parts.sink
    this.#ruleId = parts.ruleId
    this.#devices = parts.devices
  }

  static async make(
    service: Pick<Service, 'mqttUrl'>,
    admin: Rest,
    { group, size, sink }: { readonly group: string; readonly size: number; readonly sink: WebhookSink },
  ): Promise<AlertedGroup> {
    const { body: channel } = await admin.post('/alerts/channels', {
      ...{ type: 'webhook', url: sink.url, group_wait_sec: 0, group_interval_sec: 0, rate_per_minute: 600 },
    })
    const rule = await admin.post('/alerts/rules', {
      ...{ name: group, severity: 'critical', group_by: 'none', channels: [channel['channel_id']] },
      target: { type: 'group', value: group },
      condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
    })
    if (rule.status !== 201) throw new Error(`no rule: ${rule.text}`)
    const devices = new Map<string, MqttClient>()
    for (const name of Array.from({ length: size }, (_, n) => `${group}-${n}`))
      devices.set(name, await connectDevice(service, name, await registerDevice(admin, name, { group })))
    return new AlertedGroup({ admin, sink, ruleId: String(rule.body['rule_id']), devices })
  }

  async say(t: number, names = this.names): Promise<void> {
    await Promise.all(
      names.map((name) => {
        const device = this.#devices.get(name)
        return device && publish(device, name, { t })
      }),
    )
  }

  /** Resolves with the number of alerts of each device, once each has one. */
  async found(): Promise<readonly number[]> {
    const alertsOf = async (name: string) => {
      const state = 'firing,recovering,resolved'
      const { body } = await this.#admin.get(`/alerts?device_id=${name}&state=${state}`)
      // A page, by its schema.
      return (body['data'] ?? []) as readonly { readonly alert_id: string }[]
    }
    const found = await until('an alert of each', async () => {
      const alerts = await Promise.all(this.names.map(alertsOf))
      return alerts.every(({ length }) => length > 0) && alerts
    })
    this.#alerts = new Map(this.names.map((name, n) => [name, found[n]?.[0]?.alert_id ?? '']))
    return found.map(({ length }) => length)
  }

  alertOf(name: string): string {
    return this.#alerts.get(name) ?? ''
  }

  /** The numbers of the calls, among all that the sink took, that told this of the device. */
  toldOf(name: string, type: string): readonly number[] {
    const id = this.alertOf(name)
    return this.#sink.taken.flatMap((call, n) => (call.type === type && call.alerts.includes(id) ? [n] : []))
  }

  async isToldOfAll(type: string, names = this.names): Promise<void> {
    await until(`${type} of all`, () => names.every((name) => this.toldOf(name, type).length > 0))
  }

  async end(): Promise<void> {
    await Promise.all([...this.#devices.values()].map((device) => device.endAsync()))
    await this.#admin.call('DELETE', `/alerts/rules/${this.#ruleId}`)
  }
}
