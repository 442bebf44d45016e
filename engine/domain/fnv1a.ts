// FNV-1a, a short hash of a text. It is the same on every node and in every release.

/** 32 bits, as an unsigned number. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
