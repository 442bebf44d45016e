// Reads a scenario file and reports all mistakes with their lines.
import { type Problem, type Section, YamlFile } from '../../config/yaml-file.ts'
import { readExpectation } from './read-expectation.ts'
import { readStep } from './read-timeline.ts'
import { readType } from './read-type.ts'
import type { Scenario, TypePlan } from './scenario.ts'

export type ReadScenario =
  | { readonly kind: 'read'; readonly scenario: Scenario }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

export interface ScenarioSource {
  readonly text: string
  /** Reads a file that the scenario refers to. Throws if it does not exist. */
  readonly readFile: (path: string) => string
}

const TYPES_MAX = 100
const STEPS_MAX = 1_000
const EXPECTATIONS_MAX = 100
export const DEVICES_MAX = 250_000
export const SEED = { min: 0, max: 2 ** 32 - 1, isWhole: true }
export const DURATION_SEC = { min: 0.1, max: 31_536_000 }
const CONNECT_PER_SEC = { min: 1, max: 100_000 }
const CONNECT_PER_SEC_DEFAULT = 500

export function readScenario({ text, readFile }: ScenarioSource): ReadScenario {
  const file = new YamlFile(text, {})
  if (file.problems.length > 0) return { kind: 'refused', problems: file.problems }
  const root = file.section(file.root, [])
  const types = readTypes(root, readFile)
  const scenario: Scenario = {
    name: root.text('name') ?? 'scenario',
    seed: root.number('seed', SEED) ?? 1,
    durationSec: root.number('duration_sec', DURATION_SEC),
    connectPerSec: root.number('connect_per_sec', CONNECT_PER_SEC) ?? CONNECT_PER_SEC_DEFAULT,
    types,
    timeline: root.optionalSections('timeline', STEPS_MAX).map((section) => readStep(section, types)),
    expect: root.optionalSections('expect', EXPECTATIONS_MAX).map(readExpectation),
  }
  root.end()
  return file.problems.length > 0 ? { kind: 'refused', problems: file.problems } : { kind: 'read', scenario }
}

function readTypes(root: Section, readFile: (path: string) => string): readonly TypePlan[] {
  const prefixes = new Set<string>()
  const gatewayPrefixes = new Set<string>()
  let devices = 0
  return root.sections('types', TYPES_MAX).map((section) => {
    const type = readType(section, readFile)
    if (prefixes.has(type.idPrefix))
      section.refuse('id_prefix', `${type.idPrefix} is already used by another type`)
    if (gatewayPrefixes.has(type.idPrefix))
      section.refuse('id_prefix', `${type.idPrefix} is already used by another type, for its gateways`)
    if (type.perGateway !== undefined && prefixes.has(type.gatewayPrefix))
      section.refuse(
        'id_prefix',
        `${type.idPrefix} would name its gateways ${type.gatewayPrefix}, which is already used by another type`,
      )
    prefixes.add(type.idPrefix)
    if (type.perGateway !== undefined) gatewayPrefixes.add(type.gatewayPrefix)
    devices += type.count
    if (devices > DEVICES_MAX && devices - type.count <= DEVICES_MAX)
      section.refuse('count', `brings the total to more than ${DEVICES_MAX} devices`)
    return type
  })
}
