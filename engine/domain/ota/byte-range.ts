// The part of an image that a `Range` header asks for [RFC 9110 §14]. One range is honoured; a header that cannot be read,
// has another unit or wants several ranges is answered with the whole, as the RFC allows.

export type ByteRange =
  | { readonly kind: 'whole' }
  /** [from, to), never empty. */
  | { readonly kind: 'part'; readonly from: number; readonly to: number }
  | { readonly kind: 'unsatisfiable' }

const ONE_RANGE = /^bytes=(\d*)-(\d*)$/i
const WHOLE = { kind: 'whole' } as const
const UNSATISFIABLE = { kind: 'unsatisfiable' } as const

export function parseByteRange(header: string | undefined, size: number): ByteRange {
  const [, first = '', last = ''] = ONE_RANGE.exec(header?.trim() ?? '') ?? []
  // A number with too many digits is read as Infinity, which still compares correctly.
  const [from, end] = [Number(first), Number(last)]
  if (first === '' && last === '') return WHOLE
  if (first === '') return end === 0 || size === 0 ? UNSATISFIABLE : partOf(Math.max(0, size - end), size)
  if (last !== '' && end < from) return WHOLE
  if (from >= size) return UNSATISFIABLE
  return partOf(from, last === '' ? size : Math.min(end + 1, size))
}

const partOf = (from: number, to: number): ByteRange => ({ kind: 'part', from, to })
