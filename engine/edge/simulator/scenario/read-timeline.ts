// Reads one entry of `timeline`: a time, the affected devices and what happens to them.
import type { Section } from '../../config/yaml-file.ts'
import { readFault } from './read-faults.ts'
import { readValue } from './read-fields.ts'
import { STEP_KINDS, type Step, type StepAction, type TypePlan } from './scenario.ts'

const AT_SEC = { min: 0, max: 31_536_000 }
const INTERVAL_SEC = { min: 0.05, max: 86_400 }

export function readStep(section: Section, types: readonly TypePlan[]): Step {
  const atSec = section.number('at', AT_SEC) ?? 0
  if (!section.has('at')) section.refuse('at', 'is required: seconds since the start')
  const name = section.text('type')
  const names = types.flatMap(({ type, idPrefix }) => [type, idPrefix])
  if (name !== undefined && !names.includes(name))
    section.refuse('type', `must be a type or an id_prefix in this file: ${[...new Set(names)].join(', ')}`)
  const target = { name, percent: section.number('percent', { min: 0, max: 100 }) ?? 100 }
  return { atSec, target, act: readAction(section, atSec) }
}

function readAction(section: Section, atSec: number): StepAction {
  const kind = section.oneOf('do', STEP_KINDS)
  if (!section.has('do')) section.refuse('do', `is required, one of ${STEP_KINDS.join(', ')}`)
  switch (kind) {
    // Without a known step nobody can tell which keys are allowed.
    case undefined:
      return { kind: 'connect' }
    case 'fault':
      return { kind, fault: readFault(section, atSec) }
    case 'set': {
      const act = { kind, field: section.required('field'), value: readValue(section) }
      section.end()
      return act
    }
    case 'rate': {
      if (!section.has('interval_sec')) section.refuse('interval_sec', 'is required')
      const act = { kind, intervalSec: section.number('interval_sec', INTERVAL_SEC) ?? 1 }
      section.end()
      return act
    }
    default:
      section.end()
      return { kind }
  }
}
