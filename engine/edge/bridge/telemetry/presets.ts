// Selects the useful fields of common ROS messages and gives them the names that Fleet uses.
import { isObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Preset } from '../config/route.ts'

/** A missing value becomes null, which is removed later. */
export function applyPreset(preset: Preset, message: JsonObject): Json {
  return PRESET[preset](message)
}

const JOINTS_MAX = 200
const FAULTS_MAX = 200
const CHARGING = 1

const PRESET: Readonly<Record<Preset, (message: JsonObject) => Json>> = {
  // sensor_msgs/BatteryState
  battery: (message) => {
    const share = numberAt(message, 'percentage')
    return {
      // ROS uses a fraction from 0 to 1.
      percent: share === null ? null : Math.round(share * 1_000) / 10,
      voltage: numberAt(message, 'voltage'),
      current: numberAt(message, 'current'),
      temperature: numberAt(message, 'temperature'),
      charging: numberAt(message, 'power_supply_status') === CHARGING,
    }
  },
  // nav_msgs/Odometry
  odom: (message) => ({
    ...poseOf(at(message, 'pose')),
    speed: numberAt(message, 'twist', 'twist', 'linear', 'x'),
    turn_rate: numberAt(message, 'twist', 'twist', 'angular', 'z'),
  }),
  // diagnostic_msgs/DiagnosticArray
  diagnostics: ({ status }) =>
    listOf(status)
      .slice(0, FAULTS_MAX)
      .map((entry) => ({
        level: levelOf(at(entry, 'level')),
        name: at(entry, 'name') ?? null,
        message: at(entry, 'message') ?? null,
      })),
  // sensor_msgs/NavSatFix
  navsat: (message) => ({
    latitude: numberAt(message, 'latitude'),
    longitude: numberAt(message, 'longitude'),
    altitude: numberAt(message, 'altitude'),
    fix: numberAt(message, 'status', 'status'),
  }),
  // geometry_msgs/Pose, PoseStamped and PoseWithCovarianceStamped
  pose: (message) => poseOf(message),
  // sensor_msgs/JointState
  joint_state: (message) => {
    const joints = listOf(message['name']).slice(0, JOINTS_MAX)
    const column = (name: string) => listOf(message[name])
    const [positions, velocities, efforts] = [column('position'), column('velocity'), column('effort')]
    return Object.fromEntries(
      joints.map((name, n) => [
        String(name),
        {
          position: positions[n] ?? null,
          velocity: velocities[n] ?? null,
          effort: efforts[n] ?? null,
        },
      ]),
    )
  },
}

/** Finds the pose within stamped poses and poses with covariance. */
function poseOf(value: Json | undefined): JsonObject {
  let pose = value
  for (let layer = 0; layer < 2 && at(pose, 'pose') !== undefined; layer++) pose = at(pose, 'pose')
  const [x, y, z, w] = ['x', 'y', 'z', 'w'].map((axis) => numberAt(pose, 'orientation', axis) ?? 0)
  const heading = Math.atan2(
    2 * ((w ?? 0) * (z ?? 0) + (x ?? 0) * (y ?? 0)),
    1 - 2 * ((y ?? 0) ** 2 + (z ?? 0) ** 2),
  )
  return {
    position: {
      x: numberAt(pose, 'position', 'x'),
      y: numberAt(pose, 'position', 'y'),
      z: numberAt(pose, 'position', 'z'),
    },
    heading: at(pose, 'orientation') === undefined ? null : heading,
  }
}

/** Returns the level as a number. A `byte` of ROS arrives as a number, one character or Base64, depending on the
 *  server. */
function levelOf(level: Json | undefined): Json {
  if (typeof level !== 'string') return level ?? null
  return (level.length === 1 ? level.charCodeAt(0) : Buffer.from(level, 'base64')[0]) ?? null
}

function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (inner, key) => (inner !== undefined && isObject(inner) ? inner[key] : undefined),
    value,
  )
}

function numberAt(value: Json | undefined, ...path: readonly string[]): number | null {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : null
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
