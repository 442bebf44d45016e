// Runs one simulated device as a program that the kit can start. The device id must end in -001.
import { setInterval } from 'node:timers'
import { Fleet } from '../../simulator/fleet/fleet.ts'
import { SLOT_MS, World } from '../../simulator/fleet/world.ts'
import { readScenario } from '../../simulator/scenario/read-scenario.ts'

const { FLEET_MQTT_URL: url = '', FLEET_DEVICE_ID: id = '', FLEET_DEVICE_TOKEN: token = '' } = process.env
const FLUSH_MS = 50
const TEXT = `
name: one
types:
  - type: mqtt_device
    count: 1
    id_prefix: ${id.replace(/-001$/, '')}
    keep_alive_sec: 5
    telemetry: { interval_sec: 1, fields: { temperature: walk } }
    commands: { ping: { ack_ms: 10, run_ms: 50, result: { pong: true } } }
    shadow: { follow: true }
`
const read = readScenario({ text: TEXT, readFile: () => '' })
if (read.kind === 'refused') throw new Error(JSON.stringify(read.problems))
const fleet = new Fleet(read.scenario)
const world = new World({ seed: 1, signal: new AbortController().signal, log: () => undefined })
const { hostname: host, port } = new URL(url)
fleet.begin(world, { host, port: Number(port), isTls: false }, new Map([[id, token]]))
setInterval(() => {
  fleet.advance()
  world.advance()
}, SLOT_MS)
process.once('SIGTERM', () => {
  fleet.stop()
  world.writeBuffer.flush()
  setTimeout(() => process.exit(0), FLUSH_MS)
})
