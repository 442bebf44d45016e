// A device's own words as texts of a form, and what of them was changed.

import type { DeviceBody } from '../../../../../../schemas/device.ts'
import type { JsonObject } from '../../../../../../schemas/json.ts'
import { splitList } from '../../../address/split-list.ts'
import { difference, type Edit } from '../../../shadow-merge/merge.ts'

export interface Draft {
  readonly name: string
  readonly description: string
  readonly group: string
  readonly tags: string
  readonly metadata: string
}

type DeviceFields = Pick<DeviceBody, 'name' | 'description' | 'group' | 'tags' | 'metadata'>

export const draftOf = ({ name, description, group, tags, metadata }: DeviceFields): Draft => ({
  name,
  description: description ?? '',
  group: group ?? '',
  tags: tags.join(', '),
  metadata: JSON.stringify(metadata, null, 2),
})

/** The draft after a save: what the device has now, with what was typed since the draft was sent. */
export function draftAfter(saved: DeviceFields, sent: Draft, now: Draft): Draft {
  const fresh = draftOf(saved)
  const kept = (name: keyof Draft) => (now[name] === sent[name] ? fresh[name] : now[name])
  return {
    name: kept('name'),
    description: kept('description'),
    group: kept('group'),
    tags: kept('tags'),
    metadata: kept('metadata'),
  }
}

/** What can be changed of a device, as a document that can be merged: what is not set is not there. */
export const documentOf = ({ name, description, group, tags, metadata }: DeviceFields): JsonObject => ({
  ...fieldsOf({ name, description, group, tags }),
  // It was JSON on its way.
  metadata: metadata as JsonObject,
})

/** Only what differs, so that other fields stay as somebody else may have set them. */
export function editsOf(base: DeviceFields, draft: Draft, metadata: JsonObject): readonly Edit[] {
  const before = draftOf(base)
  const wanted = fieldsOf({
    name: draft.name,
    description: draft.description === '' ? null : draft.description,
    group: draft.group.trim() === '' ? null : draft.group.trim(),
    tags: draft.tags === before.tags ? base.tags : splitList(draft.tags),
  })
  const changed = draft.metadata === before.metadata ? [] : difference(base.metadata as JsonObject, metadata)
  return [
    ...difference(fieldsOf(base), wanted),
    ...changed.map((edit): Edit => ({ ...edit, path: ['metadata', ...edit.path] })),
  ]
}

type Fields = Pick<DeviceFields, 'name' | 'description' | 'group' | 'tags'>

const fieldsOf = ({ name, description, group, tags }: Fields): JsonObject => ({
  name,
  ...(description === null ? {} : { description }),
  ...(group === null ? {} : { group }),
  tags,
})
