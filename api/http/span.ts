// Reads `from` and `to` of a query or body.
import { Millis, toIso } from '../../schemas/ids.ts'
import { INSTANT_EXPECTED, parseInstant } from '../../schemas/instant-text.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal } from '../refusal.ts'

export interface Span {
  readonly kind: 'span'
  readonly from: Millis | undefined
  readonly to: Millis | undefined
}

interface SpanTexts {
  readonly from?: string
  readonly to?: string
}

/** Either may be left out. */
export function parseSpan(texts: SpanTexts, now: Millis, where: 'query' | 'body' = 'query'): Span | Refusal {
  const to = parseBound(texts, { name: 'to', now, where })
  if (to.kind === 'refused') return to
  const from = parseBound(texts, { name: 'from', now, where })
  if (from.kind === 'refused') return from
  if (from.at !== undefined && to.at !== undefined && from.at >= to.at)
    return invalid('/from', { code: 'OUT_OF_RANGE', message: 'must be before `to`', in: where })
  return { kind: 'span', from: from.at, to: to.at }
}

interface BoundSpec {
  readonly name: 'from' | 'to'
  readonly now: Millis
  readonly where: 'query' | 'body'
}

function parseBound(
  texts: SpanTexts,
  { name, now, where }: BoundSpec,
): { readonly kind: 'end'; readonly at: Millis | undefined } | Refusal {
  const text = texts[name]
  if (text === undefined) return { kind: 'end', at: undefined }
  const at = parseInstant(text, now)
  if (at === undefined)
    return invalid(`/${name}`, {
      code: 'WRONG_FORMAT',
      message: `must be ${INSTANT_EXPECTED}`,
      in: where,
    })
  const { spanMin, spanMax } = API_LIMITS
  if (at >= spanMin && at <= spanMax) return { kind: 'end', at }
  const message = `must be from ${toIso(Millis(spanMin))} to ${toIso(Millis(spanMax))}`
  return invalid(`/${name}`, { code: 'OUT_OF_RANGE', message, in: where })
}
