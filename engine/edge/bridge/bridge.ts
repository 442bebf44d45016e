// The ROS 2 bridge: a device of Fleet that sends measurements from ROS and carries out commands in ROS.
//
// - After each connect to ROS it subscribes and advertises everything again.
// - It reports a silent route once, and tries to heal it by subscribing again.
// - Neither side waits for the other: ROS works while MQTT is disconnected, and MQTT works while ROS is.
import { errorText } from '../../../schemas/error-text.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { FleetDevice } from '../device/index.ts'
import { JoinedReports } from '../device/joined-reports.ts'
import { Delivery } from './buffer/delivery.ts'
import { openRings } from './buffer/rings.ts'
import type { Clock } from './clock.ts'
import { callService, commandHandler, isStringType } from './commands.ts'
import type { BridgeConfig } from './config/bridge-config.ts'
import type { DownlinkRoute } from './config/route.ts'
import { Rosbridge, type Subscription } from './ros/rosbridge.ts'
import { Uplink } from './telemetry/uplink.ts'

export type BridgeLogLevel = 'debug' | 'info' | 'warn' | 'error'
export type BridgeLog = (level: BridgeLogLevel, text: string) => void

export interface BridgeOptions {
  readonly config: BridgeConfig
  readonly device: FleetDevice
  readonly clock: Clock
  readonly random: () => number
  readonly log: BridgeLog
}

const STATUS_EVERY_MS = 10_000
const CHECK_EVERY_MS = 1_000

export class Bridge {
  readonly #config: BridgeConfig
  readonly #device: FleetDevice
  readonly #clock: Clock
  readonly #log: BridgeLog
  readonly #delivery: Delivery
  readonly #reported: JoinedReports
  readonly #uplinks: readonly Uplink[]
  readonly #byTopic = new Map<string, readonly Uplink[]>()
  readonly #ros: Rosbridge
  #rosOpened: (() => void)[] = []
  #stopTimers: (() => void)[] = []

  constructor({ config, device, clock, random, log }: BridgeOptions) {
    this.#config = config
    this.#device = device
    this.#clock = clock
    this.#log = log
    this.#delivery = new Delivery({
      isConnected: () => device.isConnected,
      publish: ({ suffix, body, qos }) => device.publish(suffix, body, qos),
      clock,
      drainHz: config.buffer.drainHz,
      failed: (error) => log('error', `cannot send the messages that were kept on disk: ${errorText(error)}`),
    })
    const failed = (error: unknown) =>
      log('warn', `cannot report the state to the service: ${errorText(error)}`)
    this.#reported = new JoinedReports((patch) => device.report(patch), failed)
    this.#uplinks = config.uplinks.map(
      (route) =>
        new Uplink(route, clock, ({ suffix, body }, qos) => {
          if (route.to.kind === 'reported') this.#reported.add(body)
          else this.#delivery.send({ suffix, body, qos }, route.priority)
        }),
    )
    for (const uplink of this.#uplinks) {
      const key = topicKey(uplink.route.rosTopic)
      this.#byTopic.set(key, [...(this.#byTopic.get(key) ?? []), uplink])
    }
    this.#ros = new Rosbridge(
      {
        ...config.ros,
        ...{ clock, random },
        subscriptions: [...this.#byTopic.values()].map(toSubscription),
        advertisements: config.downlinks.flatMap(({ mode, rosTopic: topic, rosType: type, latch }) =>
          mode === 'topic' && type !== undefined ? [{ topic, type, latch }] : [],
        ),
      },
      {
        opened: () => this.#onRosOpened(),
        closed: (reason) =>
          log('warn', `lost the connection to ROS at ${config.ros.url}: ${reason}; connecting again`),
        unreachable: (reason) =>
          log('warn', `cannot reach ROS at ${config.ros.url}: ${reason}; trying again`),
        message: (topic, message, bytes) => {
          for (const uplink of this.#uplinksOf(topic))
            if (uplink.take(message, bytes)) this.#silenceEnded(uplink)
        },
        oversized: (topic) => {
          for (const uplink of this.#uplinksOf(topic)) if (uplink.refuse()) this.#silenceEnded(uplink)
        },
        complaint: (text) => log('warn', `rosbridge reports a problem: ${text}`),
      },
    )
    for (const route of config.downlinks) this.#addCommandRoute(route)
  }

  /** Resolves once the service has accepted the device. Rejects if the service refuses it. */
  async start(): Promise<void> {
    await this.#openBuffer()
    this.#ros.open()
    this.#every(STATUS_EVERY_MS, () => this.#publishStatus())
    this.#every(CHECK_EVERY_MS, () => this.#checkForSilence())
    this.#device.on('connected', () => {
      this.#log('info', `connected to ${this.#config.mqtt.url}`)
      this.#delivery.connected()
    })
    this.#device.on('disconnected', (error) =>
      this.#log(
        'warn',
        `lost the connection to ${this.#config.mqtt.url}: ${error?.message ?? 'it was closed'}; connecting again`,
      ),
    )
    this.#device.on('unreachable', (error) =>
      this.#log('warn', `cannot connect to ${this.#config.mqtt.url}: ${reasonOf(error)}; trying again`),
    )
    this.#device.on('dropped', (messages) =>
      this.#log('warn', `dropped ${messages} messages, because too many are waiting to be sent`),
    )
    this.#device.on('failed', (error) => this.#log('error', errorText(error)))
    await this.#device.connect()
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopTimers) stop()
    for (const uplink of this.#uplinks) uplink.close()
    this.#ros.close()
    await this.#device.close()
    await this.#delivery.close()
  }

  async #openBuffer(): Promise<void> {
    const { path, bytesMax, ageMsMax } = this.#config.buffer
    if (path === undefined) return
    const failed = (error: unknown) =>
      this.#log('error', `cannot write the buffer in ${path}, so messages are lost: ${errorText(error)}`)
    const ports = { now: () => this.#clock.elapsedMs(), failed }
    // Messages about the bridge itself have normal priority.
    const priorities = new Set(['normal' as const, ...this.#config.uplinks.map(({ priority }) => priority)])
    this.#delivery.useRings(await openRings(path, { bytesMax, ageMsMax, priorities }, ports))
  }

  #addCommandRoute(route: DownlinkRoute): void {
    if (route.from.kind === 'desired') {
      this.#followDesired(route)
      return
    }
    const handler = commandHandler(route, this.#ros, this.#clock)
    if (route.from.command === undefined) this.#device.onOtherCommands(handler)
    else this.#device.onCommand(route.from.command, handler)
  }

  /** Applies the desired state in ROS. A ROS service that accepts the state has applied it, so the bridge reports it.
   *  With a topic, the robot itself must report the result. */
  #followDesired(route: DownlinkRoute): void {
    this.#device.onDesired(async (delta, { version }) => {
      await this.#untilRosIsOpen()
      if (route.mode === 'topic') {
        const text = JSON.stringify({ version, state: delta })
        this.#ros.publish(route.rosTopic, isStringType(route.rosType) ? { data: text } : delta)
        return undefined
      }
      await callService(route, delta, { ros: this.#ros, clock: this.#clock })
      return delta
    })
  }

  #untilRosIsOpen(): Promise<void> {
    if (this.#ros.isConnected) return Promise.resolve()
    return new Promise((resolve) => this.#rosOpened.push(resolve))
  }

  #onRosOpened(): void {
    this.#log('info', `connected to ROS at ${this.#config.ros.url}`)
    for (const resolve of this.#rosOpened.splice(0)) resolve()
  }

  #uplinksOf(topic: string): readonly Uplink[] {
    return this.#byTopic.get(topicKey(topic)) ?? []
  }

  #checkForSilence(): void {
    for (const uplink of this.#uplinks) {
      const found = uplink.checkForSilence()
      if (found === undefined) continue
      if (found.began) this.#silenceBegan(uplink)
      if (found.remedy === 'reopen') this.#ros.reopen()
      else this.#ros.subscribe(uplink.route.rosTopic)
    }
  }

  #silenceBegan({ route }: Uplink): void {
    const { rosTopic, rosType, timeoutMs } = route
    const type = rosType === undefined ? '' : ` (${rosType})`
    const cause = this.#ros.isConnected
      ? 'check that the publisher runs and that topic name, type and QoS are compatible'
      : `rosbridge at ${this.#config.ros.url} cannot be reached`
    const text = `ROS_BRIDGE_TIMEOUT: no message on ${rosTopic}${type} for ${timeoutMs / 1_000} s; ${cause}`
    this.#log('error', text)
    this.#publishLog({ level: 'error', message: text, code: 'ROS_BRIDGE_TIMEOUT', ros_topic: rosTopic })
    this.#publishFault(route.name, route.isTimeoutAFault ? 2 : undefined, text)
  }

  #silenceEnded({ route }: Uplink): void {
    const text = `messages arrive on ${route.rosTopic} again`
    this.#log('info', text)
    this.#publishLog({ level: 'info', message: text, ros_topic: route.rosTopic })
    this.#publishFault(route.name, route.isTimeoutAFault ? 0 : undefined, text)
  }

  #publishLog(body: JsonObject): void {
    const timestamp = new Date(this.#clock.now()).toISOString()
    this.#send('log', { ...body, logger: 'ros_bridge', timestamp })
  }

  #publishFault(name: string, level: number | undefined, message: string): void {
    if (level === undefined) return
    const timestamp = new Date(this.#clock.now()).toISOString()
    const diagnostics = [{ level, name: `ros_bridge/${name}`, message }]
    this.#send('telemetry', { timestamp, diagnostics })
  }

  #publishStatus(): void {
    const routes = Object.fromEntries(this.#uplinks.map((uplink) => [uplink.route.name, uplink.status()]))
    const bridge = {
      routes,
      ros_connected: this.#ros.isConnected ? 1 : 0,
      mqtt_connected: this.#device.isConnected ? 1 : 0,
      buffered_bytes: this.#delivery.bufferedBytes,
      dropped: this.#delivery.dropped,
    }
    const timestamp = new Date(this.#clock.now()).toISOString()
    this.#send('telemetry', { timestamp, bridge })
  }

  #send(suffix: string, body: JsonObject): void {
    this.#delivery.send({ suffix, body, qos: 1 }, 'normal')
  }

  #every(ms: number, run: () => void): void {
    let stop = () => {}
    const again = () => {
      stop = this.#clock.after(ms, () => {
        run()
        again()
      })
    }
    again()
    this.#stopTimers.push(() => stop())
  }
}

/** Some servers send the full name of a topic with a leading slash, whichever form was subscribed. */
function topicKey(topic: string): string {
  return topic.startsWith('/') ? topic.slice(1) : topic
}

/** Combines all routes of a topic in one subscription. */
function toSubscription(uplinks: readonly Uplink[]): Subscription {
  const routes = uplinks.map(({ route }) => route)
  return {
    topic: routes[0]?.rosTopic ?? '',
    type: routes.find(({ rosType }) => rosType !== undefined)?.rosType,
    throttleMs: Math.min(...routes.map(({ throttleMs }) => throttleMs)),
    bytesMax: Math.max(...routes.map(({ bytesMax }) => bytesMax)),
  }
}

/** Returns why a connect failed, with the code that the guide explains if there is one. */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  if (error === undefined) return 'the connection was closed'
  const name = error.code === 'CERT_HAS_EXPIRED' ? 'CERTIFICATE_EXPIRED: ' : ''
  return name + (error.message || String(error.code))
}
