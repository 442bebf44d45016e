// The telemetry of each type of simulated device, rounded to the precision of its sensors.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { BuiltInDeviceType } from '../../../../schemas/vocabulary.ts'
import { ARENA_M, type Body } from './motion.ts'

export const SIMULATED_TYPES = [
  'ros2_robot',
  'micro_ros_mcu',
  'mqtt_device',
  'gateway',
] as const satisfies readonly BuiltInDeviceType[]
export type SimulatedType = (typeof SIMULATED_TYPES)[number]

export function reportOf(type: SimulatedType, body: Body, time: string): JsonObject {
  return REPORTS[type](body, time)
}

const REPORTS: Readonly<Record<SimulatedType, (body: Body, time: string) => JsonObject>> = {
  ros2_robot: (body, time) => ({
    timestamp: time,
    mode: body.mode,
    battery: {
      percent: round(body.batteryPercent, 1),
      voltage: voltage(body, 22, 29),
      charging: isCharging(body),
    },
    odom: {
      position: { x: round(body.position.x, 3), y: round(body.position.y, 3) },
      heading: round(body.heading, 3),
      speed: round(body.speed, 2),
    },
    cpu: { load: round(body.load, 2), temperature: round(body.temperature + 18, 1) },
    temperature: round(body.temperature, 1),
    rssi: Math.round(body.rssi),
  }),
  // This device has no clock, so the service uses the time of receipt.
  micro_ros_mcu: (body) => ({
    mode: body.mode,
    battery: { percent: Math.round(body.batteryPercent), voltage: voltage(body, 3.3, 4.2) },
    imu: { heading: round(body.heading, 2) },
    temperature: round(body.temperature, 2),
    rssi: Math.round(body.rssi),
    heap_free: 96_000 + Math.round((1 - body.load) * 64_000),
  }),
  mqtt_device: (body, time) => ({
    timestamp: time,
    mode: body.mode,
    temperature: round(body.temperature, 1),
    humidity: round(62 - body.temperature * 0.5 + body.load * 4, 1),
    pressure: round(1013 + (body.position.x / ARENA_M) * 6, 1),
    battery: { percent: round(body.batteryPercent, 1) },
    rssi: Math.round(body.rssi),
  }),
  gateway: (body, time) => ({
    timestamp: time,
    mode: body.mode,
    children: 4 + Math.round(body.load * 8),
    messages_per_sec: round(body.load * 120, 1),
    cpu: { load: round(body.load, 2), temperature: round(body.temperature + 22, 1) },
    memory: { used_percent: round(35 + body.load * 40, 1) },
    uplink: { rssi: Math.round(body.rssi), latency_ms: round(20 + body.load * 60, 1) },
    temperature: round(body.temperature, 1),
    rssi: Math.round(body.rssi),
    battery: { percent: 100 },
  }),
}

function isCharging(body: Body): boolean {
  return body.mode === 'charging'
}

function voltage(body: Body, empty: number, full: number): number {
  return round(empty + ((full - empty) * body.batteryPercent) / 100, 2)
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
