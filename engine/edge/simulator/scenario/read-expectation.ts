// Reads one entry of `expect`.
import { unknownName } from '../../../../schemas/nearest-name.ts'
import type { Section } from '../../config/yaml-file.ts'
import { type Expectation, OPERATORS } from './scenario.ts'
import { isMetric, METRICS } from './summary.ts'

export function readExpectation(section: Section): Expectation {
  const metric = section.required('metric')
  if (metric !== '' && !isMetric(metric)) section.refuse('metric', unknownName(metric, METRICS))
  const op = section.oneOf('op', OPERATORS)
  if (!section.has('op')) section.refuse('op', `is required, one of ${OPERATORS.join(', ')}`)
  const value = section.number('value', { min: -1e15, max: 1e15 })
  if (!section.has('value')) section.refuse('value', 'is required')
  section.end()
  return { metric, op: op ?? '==', value: value ?? 0 }
}
