// Reads one entry of `bridges`: a ROS topic, service or action and the MQTT topic that it is connected to.
import { parseSuffix, TOPIC_ROOT } from '../../../../schemas/topics.ts'
import { COMMAND_PRIORITIES, type CommandPriority } from '../../../../schemas/vocabulary.ts'
import type { Section } from '../../config/yaml-file.ts'
import { unsendable } from '../../device/unsendable.ts'
import { type FieldTree, toFieldTree } from './field-tree.ts'

const PRESETS = ['battery', 'odom', 'diagnostics', 'navsat', 'pose', 'joint_state'] as const
export type Preset = (typeof PRESETS)[number]

const MODES = ['topic', 'service', 'action'] as const

interface Common {
  /** The name is unique among the routes and appears in the metrics of the route. */
  readonly name: string
  /** The name of the ROS topic, service or action. */
  readonly rosTopic: string
  readonly rosType: string | undefined
}

/** The kind of message that a ROS message is converted to. */
export type UplinkKind =
  /** `name` is the last part of `telemetry/<name>`. */
  | { readonly kind: 'telemetry'; readonly name: string | undefined }
  | { readonly kind: 'log' }
  | { readonly kind: 'reported' }

export interface UplinkRoute extends Common {
  readonly to: UplinkKind
  readonly qos: 0 | 1 | 2
  /** Buffered messages are sent in the order of their priority. */
  readonly priority: CommandPriority
  /** Zero means that no message is held back. */
  readonly throttleMs: number
  /** An empty tree selects the whole message. */
  readonly fields: FieldTree
  readonly preset: Preset | undefined
  readonly onChange: boolean
  /** The smallest difference that counts as a change of a number, by its path. */
  readonly minChange: ReadonlyMap<string, number>
  /** Zero means that the route may be silent. */
  readonly timeoutMs: number
  /** True if a timeout is also reported as a fault of the device. */
  readonly isTimeoutAFault: boolean
  readonly timestamp: 'header' | 'receive'
  readonly bytesMax: number
}

export interface DownlinkRoute extends Common {
  readonly mode: (typeof MODES)[number]
  /** A command with this name, all other commands, or the desired state. */
  readonly from:
    | { readonly kind: 'command'; readonly command: string | undefined }
    | { readonly kind: 'desired' }
  readonly latch: boolean
}

export interface Routes {
  readonly uplinks: readonly UplinkRoute[]
  readonly downlinks: readonly DownlinkRoute[]
}

const FIELDS_MAX = 200
const HZ = { min: 0.001, max: 1_000 }
const TIMEOUT_SEC = { min: 0, max: 86_400 }
const TIMEOUT_SEC_DEFAULT = 30
const BYTES = { min: 64, max: 16 * 1024 * 1024, isWhole: true }
const BYTES_DEFAULT = 65_536
const TYPE = /^[A-Za-z]\w{0,127}\/(?:(?:msg|srv|action)\/)?[A-Za-z]\w{0,127}$/
const ROS_NAME = /^\/?[A-Za-z_~]\w{0,255}(?:\/\w{1,255}){0,31}$/

export function readRoutes(sections: readonly Section[], deviceId: string): Routes {
  const uplinks: UplinkRoute[] = []
  const downlinks: DownlinkRoute[] = []
  const names = new Set<string>()
  const taken = new Set<string>()
  for (const section of sections) {
    const direction = section.oneOf('direction', ['ros_to_mqtt', 'mqtt_to_ros'])
    if (!section.has('direction')) section.refuse('direction', 'is required: ros_to_mqtt or mqtt_to_ros')
    const rosTopic = section.required('ros_topic')
    if (rosTopic !== '' && !ROS_NAME.test(rosTopic))
      section.refuse('ros_topic', 'is not a valid ROS name of a topic, service or action')
    const rosType = section.text('ros_type')
    if (rosType !== undefined && !TYPE.test(rosType))
      section.refuse('ros_type', 'must be a ROS type such as sensor_msgs/msg/BatteryState')
    const common = { name: freeName(rosTopic, names), rosTopic, rosType }
    const suffix = suffixOf(section, deviceId)
    if (direction === 'ros_to_mqtt') {
      const uplink = readUplink(section, common, suffix)
      if (uplink !== undefined) uplinks.push(uplink)
    } else if (direction === 'mqtt_to_ros') {
      const downlink = readDownlink(section, common, suffix)
      if (downlink !== undefined && taken.has(suffix))
        section.refuse('mqtt_topic', `${suffix} already has a route`)
      taken.add(suffix)
      if (downlink !== undefined) downlinks.push(downlink)
    }
    if (direction === undefined) continue
    refuseKeysOf(direction === 'ros_to_mqtt' ? 'mqtt_to_ros' : 'ros_to_mqtt', section)
    section.end()
  }
  return { uplinks, downlinks }
}

/** The keys that are allowed for one direction only. */
const KEYS = {
  ros_to_mqtt: [
    ...['priority', 'throttle_hz', 'fields', 'preset', 'on_change', 'min_change', 'timestamp'],
    ...['timeout_sec', 'on_timeout', 'max_bytes'],
  ],
  mqtt_to_ros: ['mode', 'latch'],
} as const

/** Refuses a key of the other direction with a message of its own, because it is not a typing error. */
function refuseKeysOf(direction: keyof typeof KEYS, section: Section): void {
  const given = section.keys()
  for (const key of KEYS[direction])
    if (given.includes(key) && section.has(key))
      section.refuse(key, `is allowed only for direction ${direction}`)
}

function readUplink(section: Section, common: Common, suffix: string): UplinkRoute | undefined {
  const to = uplinkKind(suffix)
  const named = section.oneOf('preset', PRESETS)
  const fields = section.texts('fields', FIELDS_MAX)
  if (named !== undefined && fields.length > 0)
    section.refuse('fields', 'cannot be combined with preset, which chooses the fields')
  const hz = section.number('throttle_hz', HZ)
  const changes = section.section('min_change')
  const minChange = new Map(changes.keys().map((key) => [key, changes.number(key, POSITIVE) ?? 0]))
  if (to === undefined)
    return section.refuse(
      'mqtt_topic',
      'must be telemetry, telemetry/<name>, log or shadow/reported for ros_to_mqtt',
    )
  const takesDiagnostics = ['telemetry', 'telemetry/diagnostics'].includes(suffix)
  if (named === 'diagnostics' && !takesDiagnostics)
    section.refuse('mqtt_topic', 'must be telemetry or telemetry/diagnostics for the preset diagnostics')
  const isArray = DIAGNOSTIC_ARRAY.test(common.rosType ?? '') && fields.length === 0
  const preset = named ?? (isArray && takesDiagnostics ? 'diagnostics' : undefined)
  return {
    ...common,
    ...{ to, preset, minChange, fields: toFieldTree(fields) },
    qos: section.oneOf('qos', [0, 1, 2]) ?? 1,
    priority: section.oneOf('priority', COMMAND_PRIORITIES) ?? 'normal',
    throttleMs: hz === undefined ? 0 : 1_000 / hz,
    onChange: section.flag('on_change') || minChange.size > 0,
    timeoutMs: (section.number('timeout_sec', TIMEOUT_SEC) ?? TIMEOUT_SEC_DEFAULT) * 1_000,
    isTimeoutAFault: section.oneOf('on_timeout', ['log', 'error']) === 'error',
    timestamp: section.oneOf('timestamp', ['header', 'receive']) ?? 'header',
    bytesMax: section.number('max_bytes', BYTES) ?? BYTES_DEFAULT,
  }
}

/** Messages of this type are read with the preset `diagnostics` even if the route names none. */
const DIAGNOSTIC_ARRAY = /^diagnostic_msgs\/(?:msg\/)?DiagnosticArray$/
const POSITIVE = { min: 0, max: Number.MAX_VALUE }

function readDownlink(section: Section, common: Common, suffix: string): DownlinkRoute | undefined {
  const mode = section.oneOf('mode', MODES) ?? 'topic'
  // `qos` has no effect here. The device always subscribes with QoS 1, and the service chooses the QoS of each command.
  section.oneOf('qos', [0, 1, 2])
  const latch = section.flag('latch')
  if (mode !== 'service' && common.rosType === undefined)
    section.refuse('ros_type', `is required for mode ${mode}`)
  if (latch && mode !== 'topic') section.refuse('latch', 'is allowed only for mode topic')
  if (suffix === 'shadow/desired') {
    if (mode === 'action') section.refuse('mode', 'must be topic or service for shadow/desired')
    return { ...common, mode, latch, from: { kind: 'desired' } }
  }
  const [first, command, ...more] = suffix.split('/')
  if (first === 'command' && more.length === 0 && command !== '' && command !== 'ack')
    return { ...common, mode, latch, from: { kind: 'command', command } }
  return section.refuse('mqtt_topic', 'must be command, command/<name> or shadow/desired for mqtt_to_ros')
}

/** Returns the MQTT topic relative to the topic of the device. Refuses any other topic and returns an empty text. */
function suffixOf(section: Section, deviceId: string): string {
  const topic = section.required('mqtt_topic')
  const own = `${TOPIC_ROOT}/${deviceId}/`
  const suffix = topic.startsWith(own) ? topic.slice(own.length) : topic
  const isOutside = suffix.startsWith(`${TOPIC_ROOT}/`) || suffix.startsWith('/')
  const fault = unsendable(own + suffix, '')
  if (!isOutside && fault === undefined) return suffix
  section.refuse('mqtt_topic', isOutside ? `must be relative to ${own} or below it` : `is no topic: ${fault}`)
  return ''
}

function uplinkKind(suffix: string): UplinkKind | undefined {
  const parsed = parseSuffix(suffix)
  if (parsed.kind === 'telemetry') return { kind: 'telemetry', name: parsed.name }
  return parsed.kind === 'log' || parsed.kind === 'reported' ? { kind: parsed.kind } : undefined
}

/** Derives a unique name for a route: `/arm/joint_states` becomes `arm_joint_states`. */
function freeName(rosTopic: string, taken: Set<string>): string {
  const base = rosTopic.replaceAll(/\W/g, '_').replace(/^_/, '') || 'route'
  let name = base
  for (let n = 2; taken.has(name); n++) name = `${base}_${n}`
  taken.add(name)
  return name
}
