// Chooses the form in which a file goes over the network (RFC 9110 §12.5.3).

/** The smallest first. */
const ENCODINGS = ['br', 'gzip', 'identity'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** The smallest of the forms at hand that the caller takes. Anyone takes the plain one. */
export function bestEncoding(
  accepted: string | string[] | undefined,
  forms: Readonly<Partial<Record<Encoding, unknown>>>,
): Encoding {
  const weights = weightsOf(String(accepted ?? ''))
  const takes = (name: Encoding) => (weights.get(name) ?? weights.get('*') ?? 0) > 0
  return ENCODINGS.find((name) => forms[name] !== undefined && takes(name)) ?? 'identity'
}

function weightsOf(accepted: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of accepted.split(',')) {
    const [name = '', ...parameters] = part.trim().toLowerCase().split(';')
    const weight = parameters.map((text) => /^\s*q=([\d.]+)\s*$/.exec(text)?.[1]).find(Boolean)
    weights.set(name.trim(), weight === undefined ? 1 : Number(weight))
  }
  return weights
}
