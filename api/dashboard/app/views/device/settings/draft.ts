// A device's own words as texts of a form, and what of them was changed.
import type { DeviceBody } from '../../../../../../schemas/device.ts'

export interface Draft {
  readonly name: string
  readonly description: string
  readonly group: string
  readonly tags: string
  readonly metadata: string
}

type Described = Pick<DeviceBody, 'name' | 'description' | 'group' | 'tags' | 'metadata'>

export const draftOf = ({ name, description, group, tags, metadata }: Described): Draft => ({
  name,
  description: description ?? '',
  group: group ?? '',
  tags: tags.join(', '),
  metadata: JSON.stringify(metadata, null, 2),
})

/** Only what differs, so that other fields stay as somebody else may have set them. */
export function changesOf(base: Described, draft: Draft) {
  const before = draftOf(base)
  const tags = draft.tags
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
  return {
    ...(draft.name === before.name ? {} : { name: draft.name }),
    ...(draft.description === before.description ? {} : { description: orNull(draft.description) }),
    ...(draft.group === before.group ? {} : { group: orNull(draft.group.trim()) }),
    ...(tags.join() === base.tags.join() ? {} : { tags }),
  }
}

const orNull = (text: string): string | null => (text === '' ? null : text)

/** The names of the fields that differ between two readings. */
export function otherChanges(before: Described, after: Described): readonly string[] {
  const [one, other] = [draftOf(before), draftOf(after)]
  return Object.keys(one).filter((name) => one[name as keyof Draft] !== other[name as keyof Draft])
}
