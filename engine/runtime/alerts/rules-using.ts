// Finds out from the rules' documents which rules use a channel.
import type { ChannelId } from '../../../schemas/ids.ts'
import { newPackr } from '../../domain/packing.ts'
import type { Documents } from '../../ports/documents.ts'

const packr = newPackr()

/** The ids of the rules that use this channel. */
export async function rulesUsing(documents: Documents, id: ChannelId): Promise<readonly string[]> {
  const kept = await documents.list('alert-rules')
  return kept.filter(({ bytes }) => channelsOf(packr.unpack(bytes)).includes(id)).map((rule) => rule.id)
}

function channelsOf(rule: unknown): readonly unknown[] {
  const { channels } = Object(rule) as { readonly channels?: unknown }
  return Array.isArray(channels) ? channels : []
}
