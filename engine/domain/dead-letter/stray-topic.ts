// Finds the reason why nothing takes messages on a topic. A message outside the device's namespace is kept under a suffix
// that begins with a mark and contains the whole topic. A device that publishes on such a suffix itself only gets its own
// message refused.
import { nearestName } from '../../../schemas/nearest-name.ts'
import { CLOUD_ONLY_SUFFIXES, DEVICE_SUFFIXES, parseSuffix } from '../../../schemas/topics.ts'

const FORBIDDEN = '$forbidden/'

export function toForbiddenSuffix(topic: string): string {
  return `${FORBIDDEN}${topic}`
}

/** Returns the topic after the mark, or undefined if the suffix has no mark. */
export function forbiddenTopic(suffix: string): string | undefined {
  return suffix.startsWith(FORBIDDEN) ? suffix.slice(FORBIDDEN.length) : undefined
}

export interface StrayTopic {
  readonly reason: 'UNKNOWN_TOPIC' | 'FORBIDDEN_TOPIC'
  readonly detail: string
}

/** Returns undefined if messages on this suffix are taken. */
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
