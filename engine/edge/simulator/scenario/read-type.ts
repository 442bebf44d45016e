// Reads one entry of `types`: a set of devices that behave alike.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import type { Section } from '../../config/yaml-file.ts'
import { parsePattern } from './pattern.ts'
import { readFaults } from './read-faults.ts'
import { readFields } from './read-fields.ts'
import { readFirmware } from './read-firmware.ts'
import type { CommandPlan, TelemetryPlan, TypePlan } from './scenario.ts'

const COUNT = { min: 1, max: 250_000, isWhole: true }
const PER_GATEWAY = { min: 1, max: 1_000, isWhole: true }
const PER_GATEWAY_DEFAULT = 1_000
const KEEP_ALIVE_SEC = { min: 5, max: 1_200, isWhole: true }
const KEEP_ALIVE_SEC_DEFAULT = 60
const INTERVAL_SEC = { min: 0.05, max: 86_400 }
const INTERVAL_SEC_DEFAULT = 10
const DELAY_MS = { min: 0, max: 3_600_000 }
const PERCENT = { min: 0, max: 100 }
const TAGS_MAX = 32
const COMMANDS_MAX = 100
/** Leaves room for the number of the device, since a device id has at most 64 characters. */
const PREFIX = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/
const SEGMENTS = /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,64}(\/[A-Za-z0-9._-]{1,64})*$/
export const PING: CommandPlan = {
  ...{ ackMs: undefined, runMs: 0, failPercent: 0, ignorePercent: 0, result: { pong: true } },
}

export function readType(section: Section, readFile: (path: string) => string): TypePlan {
  const type = section.required('type')
  const count = section.number('count', COUNT) ?? 0
  if (!section.has('count')) section.refuse('count', 'is required')
  const idPrefix = section.text('id_prefix') ?? `sim-${type.replaceAll('_', '-')}`
  if (!PREFIX.test(idPrefix))
    section.refuse('id_prefix', 'must be 1 to 40 letters, digits, - and _, and begin with a letter or digit')
  const plan: TypePlan = {
    ...{ type, count, idPrefix, gatewayPrefix: `${idPrefix}-gw` },
    idDigits: Math.max(3, String(count).length),
    numberAt: (index) => index + 1,
    group: readGroup(section),
    tags: section.texts('tags', TAGS_MAX),
    perGateway: readVia(section),
    keepAliveSec: section.number('keep_alive_sec', KEEP_ALIVE_SEC) ?? KEEP_ALIVE_SEC_DEFAULT,
    telemetry: readTelemetry(section.section('telemetry'), readFile),
    commands: readCommands(section.section('commands')),
    shadow: readShadow(section.section('shadow')),
    firmware: readFirmware(section.section('firmware')),
    faults: readFaults(section),
  }
  section.end()
  return plan
}

function readGroup(section: Section): TypePlan['group'] {
  const text = section.text('group')
  if (text === undefined) return () => undefined
  const pattern = parsePattern(text)
  if (pattern === undefined)
    section.refuse('group', 'may contain {n}, {n%10} or {n/100}, where n is the number of the device')
  else if (!SEGMENTS.test(pattern(1)))
    section.refuse('group', 'must be a path of letters, digits, dots, - and _, such as site/a')
  return pattern ?? (() => undefined)
}

function readVia(section: Section): number | undefined {
  const via = section.oneOf('via', ['direct', 'gateway']) ?? 'direct'
  const perGateway = section.number('per_gateway', PER_GATEWAY)
  if (via === 'direct' && section.has('per_gateway'))
    section.refuse('per_gateway', 'has no effect without via: gateway')
  return via === 'gateway' ? (perGateway ?? PER_GATEWAY_DEFAULT) : undefined
}

function readTelemetry(section: Section, readFile: (path: string) => string): TelemetryPlan {
  const plan: TelemetryPlan = {
    intervalSec: section.number('interval_sec', INTERVAL_SEC) ?? INTERVAL_SEC_DEFAULT,
    jitter: section.number('jitter', { min: 0, max: 1 }) ?? 0,
    qos: section.oneOf('qos', [0, 1]) ?? 1,
    source: { kind: 'fields', fields: readFields(section.section('fields'), readFile) },
  }
  section.end()
  return plan
}

function readCommands(section: Section): ReadonlyMap<string, CommandPlan> {
  const names = section.keys()
  if (names.length > COMMANDS_MAX) section.refuse('', `has more than ${COMMANDS_MAX} commands`)
  const plans = new Map<string, CommandPlan>([['ping', PING]])
  for (const name of names) plans.set(name, readCommand(section.section(name)))
  section.end()
  return plans
}

function readCommand(section: Section): CommandPlan {
  const plan = {
    ackMs: section.number('ack_ms', DELAY_MS),
    runMs: section.number('run_ms', DELAY_MS) ?? 0,
    failPercent: section.number('fail_percent', PERCENT) ?? 0,
    ignorePercent: section.number('ignore_percent', PERCENT) ?? 0,
    result: readResult(section),
  }
  if (plan.failPercent + plan.ignorePercent > 100)
    section.refuse('fail_percent', 'and ignore_percent add up to more than 100')
  section.end()
  return plan
}

function readResult(section: Section): JsonObject {
  const value = section.value('result')
  if (value === undefined) return {}
  if (isObject(value)) return value
  section.refuse('result', 'must be a mapping of keys to values')
  return {}
}

function readShadow(section: Section): TypePlan['shadow'] {
  const shadow = {
    follow: !section.has('follow') || section.flag('follow'),
    delayMs: section.number('delay_ms', DELAY_MS) ?? 0,
  }
  section.end()
  return shadow
}
