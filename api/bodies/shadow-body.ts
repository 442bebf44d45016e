// The body of a shadow change in /ws, which equals an entry of the shadow's history.
import type { ShadowChange } from '../../engine/domain/shadow/record.ts'
import { toIso } from '../../schemas/ids.ts'

export function shadowChangeBody({ version, at, section, by, patch, previous, requestId }: ShadowChange) {
  return {
    version,
    timestamp: toIso(at),
    section,
    actor: { type: by.kind, id: by.id },
    patch,
    previous,
    request_id: requestId ?? null,
  }
}
