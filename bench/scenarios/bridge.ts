// Measures the cost of the ROS 2 bridge on a robot, as CPU time per ROS message that becomes an MQTT message.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Robot } from '../load/robot.ts'
import { withService } from '../load/session.ts'
import type { OpenPlace } from '../load/simulated.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep, until, within } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { track } from '../targets/children.ts'

const CLI = fileURLToPath(new URL('../../program/fleet.js', import.meta.url))
const RELAY = fileURLToPath(new URL('../targets/relay-main.js', import.meta.url))
const ID = 'bench-robot'
const CONNECTED_MS = 60_000
const WARM_MS = 5_000

export const bridge: Scenario = {
  name: 'bridge',
  about: 'CPU per message of the ROS 2 bridge, at 50 Hz on one topic and on ten',
  async run(bench) {
    await bench.withDir(async (dir) => {
      await withService({ dataDir: join(dir, 'data'), durability: 'power' }, async ({ service, rest }) => {
        const [login] = await rest.registerAs([ID], (id) => ({ device_id: id, name: id, type: 'ros2_robot' }))
        const at = { bench, dir, service, rest, token: login?.token ?? '' }
        for (const topics of [1, 10]) await costOf(at, topics, await floorOf(bench, topics))
      })
    })
  },
}

interface Place extends OpenPlace {
  readonly bench: Bench
  readonly token: string
}

/** Measures the CPU time per message of a process that only parses each message and writes something to a socket. */
async function floorOf(bench: Bench, topics: number): Promise<number> {
  const ros = await Robot.open(topics)
  const sink = createServer((socket) => {
    socket.on('data', () => socket.write('ack!'))
    socket.on('error', () => socket.destroy())
  })
  await once(sink.listen(0, '127.0.0.1'), 'listening')
  // It listens on TCP, so its address is an object.
  const { port } = sink.address() as AddressInfo
  const child = track(spawn(process.execPath, [RELAY, ros.url, String(port), String(topics)]))
  try {
    await within(CONNECTED_MS, 'connection to ROS', ros.subscribed)
    await sleep(WARM_MS)
    const [before, saidBefore] = [sampleCpu(child.pid), ros.said]
    await sleep(measuredMs(bench))
    return cpuBetween(before, sampleCpu(child.pid)).totalMicros / (ros.said - saidBefore)
  } finally {
    await child.kill('SIGKILL')
    ros.close()
    sink.close()
  }
}

const measuredMs = (bench: Bench): number => (bench.quick ? 10_000 : 30_000)

async function costOf(
  { bench, dir, service, rest, token }: Place,
  topics: number,
  floor: number,
): Promise<void> {
  const ros = await Robot.open(topics)
  const path = join(dir, 'bridge.yaml')
  writeFileSync(path, fileText({ service, token, rosUrl: ros.url, topics }))
  const child = track(
    spawn(process.execPath, [CLI, 'bridge', 'ros', '--config', path], {
      env: { ...process.env, XDG_STATE_HOME: dir },
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  )
  try {
    await within(CONNECTED_MS, 'connection to ROS', ros.subscribed)
    const taken = async () => {
      const lines = (await rest.metrics()).split('\n')
      const counts = lines.filter((line) => line.startsWith('fleet_mqtt_publishes_total'))
      return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    }
    await until('the first message', { deadlineMs: CONNECTED_MS, everyMs: 100 }, async () =>
      (await taken()) > 0 ? true : undefined,
    )
    await sleep(WARM_MS)
    const noise = new NoiseMeter()
    const [before, takenBefore] = [sampleCpu(child.pid), await taken()]
    await sleep(measuredMs(bench))
    const [after, takenAfter] = [sampleCpu(child.pid), await taken()]
    const messages = takenAfter - takenBefore
    const micros = cpuBetween(before, after).totalMicros / messages
    const scenario = `ROS 2 bridge, ${topics === 1 ? 'one topic' : `${topics} topics`} at 50 Hz`
    bench.add({
      ...{ scenario, name: 'bare relay, CPU per message', value: floor, unit: 'µs' },
      note: 'a process that parses each message and writes to a socket, and does nothing else',
    })
    bench.add({
      ...{ scenario, name: 'CPU per message', value: micros, unit: 'µs' },
      target: { kind: 'at_most', value: 30 },
      ...bench.shareOf('a bare relay', floor / micros),
      note: `${toDigits(messages)} messages, each with its PUBACK${noise.note()}`,
    })
  } finally {
    await child.kill('SIGINT')
    ros.close()
  }
}

function fileText({
  service,
  token,
  rosUrl,
  topics,
}: Pick<Place, 'service' | 'token'> & { readonly rosUrl: string; readonly topics: number }): string {
  const routes = Array.from({ length: topics }, (_, n) => ({
    ...{ ros_topic: `/battery_${n}`, mqtt_topic: `telemetry/battery_${n}` },
    ...{ direction: 'ros_to_mqtt', preset: 'battery' },
  }))
  const { host, port } = service.mqtt
  const mqtt = { host, port, token }
  // JSON is valid YAML.
  return JSON.stringify({ device_id: ID, mqtt, ros: { url: rosUrl }, bridges: routes })
}
