// Which entries of a timeline a role may see: a viewer sees the state of a device but not its commands.
import { EVENT_KINDS } from '../../schemas/history.ts'
import type { Role } from '../../schemas/vocabulary.ts'

export type TimelineKind = (typeof EVENT_KINDS)[number]

const VIEWER_KINDS: readonly TimelineKind[] = EVENT_KINDS.filter((kind) => kind !== 'command')

export function timelineKinds(role: Role): readonly TimelineKind[] {
  return role === 'viewer' ? VIEWER_KINDS : EVENT_KINDS
}
