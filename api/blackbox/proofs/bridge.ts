// The ROS 2 bridge at 50 Hz, while ROS, the way to the service and the service itself break in turn.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Rest } from '../../../bench/load/rest.ts'
import { HZ, Robot } from '../../../bench/load/robot.ts'
import { cpuBetween, sampleCpu } from '../../../bench/measure/cpu.ts'
import { sleep, ticks, until, within } from '../../../bench/measure/deadline.ts'
import { toDigits } from '../../../bench/measure/report.ts'
import type { Bench, Scenario } from '../../../bench/scenario.ts'
import { track } from '../../../bench/targets/children.ts'
import { type Service, startService } from '../../../bench/targets/service.ts'
import { CutProxy } from '../../../engine/adapters/testing/proxy.ts'

const CLI = fileURLToPath(new URL('../../../program/fleet.js', import.meta.url))
const ID = 'proof-robot'
const CYCLE_MS = 30_000
const AWAY_MS = 3_000
const ORDER_EVERY_MS = 2_000
const PATIENCE = { deadlineMs: 120_000, everyMs: 250 }
const FAULTS = ['ROS', 'MQTT', 'service'] as const

export const bridge: Scenario = {
  name: 'bridge',
  about: '50 Hz through the ROS 2 bridge while ROS, MQTT and the service are killed in turn: nothing is lost',
  async run(bench) {
    await bench.withDir(async (dir) => {
      const stage = await Stage.open(dir)
      try {
        await judge(bench, stage)
      } finally {
        await stage.close()
      }
    })
  },
}

/** The service, the robot, and a way between them that can be cut. */
class Stage {
  readonly dir: string
  readonly robot: Robot
  readonly proxy: CutProxy
  #service: Service
  #rest: Rest

  private constructor(dir: string, robot: Robot, proxy: CutProxy, begun: readonly [Service, Rest]) {
    this.dir = dir
    this.robot = robot
    this.proxy = proxy
    ;[this.#service, this.#rest] = begun
    proxy.target = () => `${this.#service.mqtt.host}:${this.#service.mqtt.port}`
  }

  static async open(dir: string): Promise<Stage> {
    const begun = await begin(dir)
    return new Stage(dir, await Robot.open(1), await CutProxy.open(''), begun)
  }

  get rest(): Rest {
    return this.#rest
  }

  async break(fault: (typeof FAULTS)[number]): Promise<void> {
    if (fault === 'ROS') return this.robot.leave(AWAY_MS)
    if (fault === 'MQTT') {
      this.proxy.isClosed = true
      this.proxy.cut()
      await sleep(AWAY_MS)
      this.proxy.isClosed = false
      return
    }
    this.#rest.close()
    await this.#service.kill('SIGKILL')
    await sleep(AWAY_MS)
    ;[this.#service, this.#rest] = await begin(this.dir)
  }

  async close(): Promise<void> {
    this.robot.close()
    this.proxy.close()
    this.#rest.close()
    await this.#service.kill()
  }
}

async function begin(dir: string): Promise<readonly [Service, Rest]> {
  const service = await startService({ dataDir: join(dir, 'data'), durability: 'power' })
  const rest = new Rest(service.httpUrl)
  await rest.login()
  return [service, rest]
}

async function judge(bench: Bench, stage: Stage): Promise<void> {
  const { robot } = stage
  const startedAt = Date.now()
  const [login] = await stage.rest.registerAs([ID], (id) => ({
    ...{ device_id: id, name: id, type: 'ros2_robot' },
  }))
  const path = join(stage.dir, 'bridge.yaml')
  writeFileSync(path, fileText(stage, login?.token ?? ''))
  const child = track(
    spawn(process.execPath, [CLI, 'bridge', 'ros', '--config', path], {
      env: { ...process.env, XDG_STATE_HOME: stage.dir },
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  )
  const orders = new Orders(stage)
  try {
    await within(PATIENCE.deadlineMs, 'connection to ROS', robot.subscribed)
    const before = sampleCpu(child.pid)
    const cycles = bench.quick ? 2 * FAULTS.length : 20
    let lagSecMax = 0
    for (let cycle = 0; cycle < cycles; cycle++) {
      const endsAt = ticks() + CYCLE_MS
      const fault = FAULTS[cycle % FAULTS.length] ?? 'ROS'
      await sleep(CYCLE_MS / 6)
      bench.say(`${fault} is killed`)
      await stage.break(fault)
      await sleep(endsAt - ticks())
      lagSecMax = Math.max(lagSecMax, await lagOf(stage))
    }
    await robot.fallSilent()
    const { totalMicros } = cpuBetween(before, sampleCpu(child.pid))
    const about = { deviceId: ID, metric: 'battery.charge', interval: '1h' }
    const range = { from: new Date(startedAt - 3_600_000), to: new Date(startedAt + 7_200_000) }
    const stored = () => stage.rest.countOf({ ...about, ...range })
    await until('all that was kept is sent', PATIENCE, async () =>
      (await stored()) >= robot.said ? true : undefined,
    ).catch((error: unknown) => bench.say(String(error)))
    const minutes = (cycles * CYCLE_MS) / 60_000
    const scenario = `ROS 2 bridge, ${HZ} Hz for ${toDigits(minutes)} minutes, ${cycles} kills of ${FAULTS.join(', ')} in turn`
    const none = { kind: 'at_most', value: 0 } as const
    const found = await stored()
    bench.add(
      {
        ...{ scenario, name: 'messages lost, doubled or with another time', unit: '', target: none },
        value: Math.abs(robot.said - found),
        note:
          `${toDigits(robot.said)} said, ${toDigits(found)} points with the times of their headers; the bridge used ` +
          `${toDigits(totalMicros / robot.said)} CPU-µs a message`,
      },
      {
        ...{ scenario, name: 'lag at the end of a cycle, the longest', value: lagSecMax, unit: 's' },
        target: { kind: 'at_most', value: 1 },
        note: `${CYCLE_MS / 1_000 - CYCLE_MS / 6_000} s after a kill`,
      },
      {
        ...{ scenario, name: 'commands not carried out once', unit: '', target: none },
        ...(await orders.verdict((text) => bench.say(text))),
      },
    )
  } finally {
    orders.stop()
    await child.kill('SIGINT')
  }
}

/** How far the service is behind the robot, in seconds of messages. */
async function lagOf({ rest, robot }: Stage): Promise<number> {
  const text = await rest.text(`/api/v1/telemetry/${ID}`)
  const { said } = robot
  const battery = Reflect.get(Object(Reflect.get(JSON.parse(text), 'data')), 'battery')
  return Math.max(0, (said - 1 - Number(Reflect.get(Object(battery), 'charge'))) / HZ)
}

/** Commands, one after the other, while there is a service that takes them. */
class Orders {
  readonly #stage: Stage
  /** The id of each that the service took, by what the robot hears of it. */
  readonly #taken = new Map<string, string>()
  readonly #timer: NodeJS.Timeout
  #nth = 0

  constructor(stage: Stage) {
    this.#stage = stage
    this.#timer = setInterval(() => void this.#order(), ORDER_EVERY_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** A command of which the bridge says that it has failed, because ROS is away, is not carried out. */
  async verdict(say: (text: string) => void): Promise<{ readonly value: number; readonly note: string }> {
    this.stop()
    const { rest, robot } = this.#stage
    let [wrong, completed] = [0, 0]
    for (const [text, id] of this.#taken) {
      let shown = ''
      const status = await until(`end of command ${text}`, PATIENCE, async () => {
        shown = await rest.text(`/api/v1/commands/${ID}/${id}`)
        const now = String(Reflect.get(Object(JSON.parse(shown)), 'status'))
        return now === 'completed' || now === 'failed' ? now : undefined
      }).catch(() => undefined)
      const times = robot.heard.get(text) ?? 0
      if (status === 'completed') completed++
      if (status !== undefined && times === (status === 'completed' ? 1 : 0)) continue
      wrong++
      say(`${text}, heard ${times} times, is ${shown}`)
    }
    const twice = [...robot.heard.values()].filter((times) => times > 1).length
    const rejected = this.#taken.size - completed
    return {
      value: wrong + twice,
      note: `${completed} completed and heard by the robot once, ${rejected} failed because ROS was away and not heard`,
    }
  }

  async #order(): Promise<void> {
    const text = `order ${this.#nth++}`
    const body = { command: 'say', data: { data: text }, timeout_sec: 600 }
    try {
      const reply: unknown = JSON.parse(await this.#stage.rest.post(`/api/v1/commands/${ID}`, body))
      this.#taken.set(text, String(Reflect.get(Object(reply), 'command_id')))
    } catch {
      // The service is away. If it took the command all the same, the robot hears of it once at most.
    }
  }
}

function fileText({ dir, robot, proxy }: Stage, token: string): string {
  const [host = '', port = ''] = proxy.url.split(':')
  // JSON is YAML.
  return JSON.stringify({
    device_id: ID,
    mqtt: { host, port: Number(port), token },
    ros: { url: robot.url },
    buffer: { path: join(dir, 'buffer') },
    bridges: [
      {
        ...{ ros_topic: '/battery_0', mqtt_topic: 'telemetry/battery', direction: 'ros_to_mqtt' },
        fields: ['charge', 'percentage', 'voltage', 'current', 'temperature'],
      },
      {
        ...{ ros_topic: '/say', mqtt_topic: 'command/say', direction: 'mqtt_to_ros' },
        ros_type: 'std_msgs/msg/String',
      },
    ],
  })
}
