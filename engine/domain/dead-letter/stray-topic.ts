// Messages on topics that nothing takes. One on a topic outside the device's namespace is kept under a suffix that marks
// it, with the whole topic behind the mark. A device that publishes on such a suffix itself only accuses itself.
import { nearestName } from '../../../schemas/nearest-name.ts'
import { CLOUD_ONLY_SUFFIXES, DEVICE_SUFFIXES, parseSuffix } from '../../../schemas/topics.ts'

const FORBIDDEN = '$forbidden/'

export function toForbiddenSuffix(topic: string): string {
  return `${FORBIDDEN}${topic}`
}

/** The topic behind the mark; undefined for a suffix without it. */
export function forbiddenTopic(suffix: string): string | undefined {
  return suffix.startsWith(FORBIDDEN) ? suffix.slice(FORBIDDEN.length) : undefined
}

export interface StrayTopic {
  readonly reason: 'UNKNOWN_TOPIC' | 'FORBIDDEN_TOPIC'
  readonly detail: string
}

/** Why nothing takes messages on this suffix; undefined if something does. */
export function strayTopic(suffix: string): StrayTopic | undefined {
  const topic = forbiddenTopic(suffix)
  if (topic !== undefined)
    return { reason: 'FORBIDDEN_TOPIC', detail: `the device may not publish on ${topic}` }
  const { kind } = parseSuffix(suffix)
  if (kind === 'cloud_only')
    return { reason: 'FORBIDDEN_TOPIC', detail: `only the service publishes on ${suffix}` }
  if (kind !== 'other') return undefined
  const nearest = nearestName(suffix, [...DEVICE_SUFFIXES, ...CLOUD_ONLY_SUFFIXES])
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  return { reason: 'UNKNOWN_TOPIC', detail: `nothing takes messages on ${suffix}${hint}` }
}
