// Reads `faults` of a type and the fault of a timeline step.
import type { Section } from '../../config/yaml-file.ts'
import { FAULT_KINDS, type Fault, type FaultKind, type FaultShare } from './scenario.ts'

const FAULTS_MAX = 50
const PERCENT = { min: 0, max: 100 }
const SECONDS = { min: 0, max: 31_536_000 }
const SOME_SECONDS = { min: 0.1, max: 86_400 }
const SKEW_SEC = { min: -31_536_000, max: 31_536_000 }

/** The keys that each kind accepts in addition to `at_sec` and `for_sec`. */
const KEYS: Readonly<Record<FaultKind, readonly string[]>> = {
  offline: [],
  flap: ['every_sec', 'down_sec'],
  half_open: [],
  slow_reader: ['every_sec', 'down_sec'],
  duplicate_acks: ['times'],
  late_acks: ['delay_sec'],
  bad_json: ['message_percent'],
  clock_skew: ['delay_sec'],
  stuck: [],
  spike: ['message_percent', 'times'],
  drift: ['per_min'],
  dropout: ['message_percent'],
  oversize: ['message_percent', 'bytes'],
}

export function readFaults(type: Section): readonly FaultShare[] {
  const shares = type.optionalSections('faults', FAULTS_MAX).map((section): FaultShare => {
    const percent = section.number('percent', PERCENT) ?? 0
    if (!section.has('percent')) section.refuse('percent', 'is required')
    const fault = readFault(section, section.number('at_sec', SECONDS) ?? 0)
    return { percent, fault }
  })
  if (shares.reduce((sum, { percent }) => sum + percent, 0) > 100)
    type.refuse('faults', 'add up to more than 100 percent')
  return shares
}

/** Reads all keys except those that the caller has read, and ends the section. */
export function readFault(section: Section, atSec: number): Fault {
  const kind = section.oneOf('kind', FAULT_KINDS)
  if (!section.has('kind')) section.refuse('kind', `is required, one of ${FAULT_KINDS.join(', ')}`)
  const keys = kind === undefined ? [] : KEYS[kind]
  const number = (key: string, range: Parameters<Section['number']>[1], otherwise: number): number =>
    keys.includes(key) ? (section.number(key, range) ?? otherwise) : otherwise
  const fault: Fault = {
    kind: kind ?? 'stuck',
    atSec,
    forSec: section.number('for_sec', SOME_SECONDS),
    everySec: number('every_sec', SOME_SECONDS, 10),
    downSec: number('down_sec', SOME_SECONDS, 2),
    messagePercent: number('message_percent', PERCENT, 10),
    times: number('times', { min: 2, max: 1_000 }, kind === 'spike' ? 10 : 2),
    delaySec: number('delay_sec', SKEW_SEC, kind === 'clock_skew' ? 3_600 : 30),
    perMin: number('per_min', { min: -1e9, max: 1e9 }, 1),
    bytes: number('bytes', { min: 1, max: 1_048_576, isWhole: true }, 300_000),
  }
  // Without a known kind nobody can tell which keys are allowed.
  if (kind !== undefined) section.end()
  return fault
}
