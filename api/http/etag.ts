// Conditional requests (RFC 9110 §13): which entity tags a header names.

export const quoted = (etag: string): string => `"${etag}"`

/** The tags of an `If-Match` or `If-None-Match` header, without quotes; `*` stands for any. */
function parseEtags(header: string): readonly { readonly tag: string; readonly weak: boolean }[] {
  return header.split(',').map((part) => {
    const text = part.trim()
    const weak = text.startsWith('W/')
    return { tag: (weak ? text.slice(2) : text).replace(/^"(.*)"$/, '$1'), weak }
  })
}

/** Whether the caller's copy is current. Uses weak comparison, as RFC 9110 requires for reading. */
export function isFresh(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return parseEtags(ifNoneMatch).some(({ tag }) => tag === '*' || tag === etag)
}

export type Condition =
  | { readonly kind: 'any' }
  | { readonly kind: 'revision'; readonly revision: number }
  | { readonly kind: 'stale' }

/** Whether an edit may proceed, judged only by the revision (the part of the tag before `-`). */
export function parseIfMatch(ifMatch: string | undefined, revision: number): Condition {
  if (ifMatch === undefined) return { kind: 'any' }
  for (const { tag, weak } of parseEtags(ifMatch)) {
    if (tag === '*') return { kind: 'any' }
    if (!weak && tag.split('-', 1)[0] === String(revision)) return { kind: 'revision', revision }
  }
  return { kind: 'stale' }
}

export type VersionMatch =
  | { readonly kind: 'read'; readonly version: number | undefined }
  | { readonly kind: 'unreadable' }

/** The version that a write is meant for, or undefined for any. Anything but a single version is reported as unreadable, so
 *  that it cannot pass as "any". */
export function parseVersionMatch(ifMatch: string | undefined): VersionMatch {
  if (ifMatch === undefined) return { kind: 'read', version: undefined }
  const [tag, ...others] = parseEtags(ifMatch).map((etag) => etag.tag)
  if (others.length > 0 || tag === undefined) return { kind: 'unreadable' }
  if (tag === '*') return { kind: 'read', version: undefined }
  return /^\d{1,15}$/.test(tag) ? { kind: 'read', version: Number(tag) } : { kind: 'unreadable' }
}
